"""Function words (stop words) by language, for the comparison of questions with texts. Languages have Snowball's names.

A search by words leaves out only those that no chunk has (rag.providers.stores.pgvector.bm25_query).
"""

_ENGLISH = """
a about above after again all also am an and any are as at be because been before being below between both but by can
could did do does doing down during each either else ever every few for from further get gets got had has have having
he her here hers herself him himself his how i if in into is it its itself just let like made make many may me might
more most much must my myself no nor not now of off on once one only or other our ours ourselves out over own per
please same shall she should so some such tell than that the their theirs them themselves then there these they thing
this those through to too under until up upon us use used using very via was we were what when where whether which
while who whom whose why will with within without would you your yours yourself anymore anybody anyone anything anyway
anywhere everybody everyone everything nobody nothing somebody someone something somewhere others already
"""
_ENGLISH_CONTRACTIONS = """
ain't aren't can't couldn't didn't doesn't don't hadn't hasn't haven't he's here's how's i'd i'll i'm i've isn't it's
let's mustn't needn't she's shouldn't that's there's they're they've wasn't we'd we'll we're we've weren't what's
where's who's won't wouldn't you'd you'll you're you've
"""
# The index of words divides them: "doesn't" is "doesn" and "t".
_BEFORE_APOSTROPHES = " ".join(
    word.removesuffix("'t") for word in _ENGLISH_CONTRACTIONS.split() if word.endswith("n't") and word != "won't"
)
_GERMAN = """
aber alle allem allen aller alles als also am an ander andere anderen anderer anderes auch auf aus bei beim bin bis
bist da dabei dadurch dafür damit dann darf darfst das dass daß dazu dein deine dem den denn der deren des dessen dich
die dies diese diesem diesen dieser dieses dir doch dort du durch dürfen dürft ein eine einem einen einer eines er es
etwas euch euer für gegen gibt hab habe haben hat hatte hatten hier hin hinter ich ihm ihn ihnen ihr ihre ihrem ihren
ihrer im in ins ist ja jede jedem jeden jeder jedes jene kann kein keine keinem keinen keiner können könnte man manche
mehr mein meine mich mir mit muss müssen nach nicht nichts noch nun nur ob oder ohne sehr sein seine seinem seinen
seiner seit sich sie sind so solche soll sollen sollte sondern sonst über um und uns unser unsere unter vom von vor
wann war waren warum was weil welche welchem welchen welcher welches wem wen wenn wer werde werden wessen wie wieder
wir wird wo wohin woher wurde wurden zu zum zur zwischen meinen meinem meiner meines deinen deinem deiner deines
seines unseren unserem unserer unseres eure euren eurem eurer eures ihres keines
daran darauf daraus darin darüber darum davon davor hierzu inwiefern inwieweit weshalb weswegen wieso wobei wodurch
wofür wogegen womit wonach woran worauf woraus worin worüber worum wovon wovor wozu
"""
_FRENCH = """
a afin ai ainsi alors au aucun aucune aussi autre autres aux avait avant avec avez avoir avons ayant c car ce ceci
cela celle celles celui ces cet cette ceux chaque chez ci combien comme comment d dans de depuis des dois doit dès
donc dont du elle elles en encore entre es est et étaient était étant été être eu eux fait faut font hors ici il ils
j je jusque l la là laquelle le lequel les lesquels leur leurs lors lorsque lui m ma mais me même mêmes mes moi mon n
ne ni nos notre nous on ont ou où par parce pas pendant peu peut peuvent peux plus pour pourquoi puis qu quand que
quel quelle quelles quels qui quoi s sa sans se selon sera seront ses si soi soit son sont sous sur t ta te tes toi
ton tous tout toute toutes très tu un une vers via voici voilà vos votre vous y
auquel auxquelles auxquels desquelles desquels duquel lesquelles
"""
_SPANISH = """
a al algo algún alguna algunas algunos ambos ante antes aquel aquella aquellas aquellos así aún aunque bajo bien cada
como cómo con contra cual cuál cuales cuáles cualquier cuando cuándo cuanta cuánta cuantas cuántas cuanto cuánto
cuantos cuántos de debe debo del desde donde dónde dos durante e el él ella ellas ellos en entre era eran eres es esa
esas ese eso esos esta está estaba estamos están estar estas este esto estos fue fueron ha había han has hasta hay he
la las le les lo los más me mi mis mientras mismo muy nada ni no nos nosotros nuestra nuestro o os otra otras otro
otros para pero poco por porque pues puede pueden puedo que qué quien quién quienes se sea ser si sí sido sin sobre
solo sólo son soy su sus también tan tanto te tener tengo ti tiene tienen todo todos tu tú tus un una unas uno unos
usted ustedes y ya yo nuestros nuestras vuestro vuestra vuestros vuestras
adónde cuya cuyas cuyo cuyos quiénes
"""
_ITALIAN = """
a abbiamo ad agli ai al alcuni alcune all alla alle allo allora altra altre altri altro anche ancora avere aveva c che
chi ci ciò col come con contro cosa così cui d da dagli dai dal dall dalla dalle dallo degli dei del dell della delle
dello dentro di dopo dove due e è ed egli era erano essere fa fino fra fu già gli ha hai hanno ho i il in io l la le
lei li lo loro lui ma me mentre mi mia mie miei mio molto ne negli nei nel nell nella nelle nello no noi non nostra
nostro o ogni oltre per perché perciò più poco poi prima può qual quale quali quando quanta quante quanti quanto
quella quelle quelli quello questa queste questi questo qui quindi sarà se sei sempre senza si sia siamo siete solo
sono sopra sotto sta stata stati stato su sua sue sugli sui sul sull sulla sulle sullo suo suoi ti tra tu tua tuo
tutta tutte tutti tutto un una uno v vi voi tuoi tue nostri nostre vostro vostra vostri vostre
"""
_PORTUGUESE = """
a à ao aos aquela aquelas aquele aqueles aquilo as às até cada com como da das de dela dele deles depois do dos e é
ela elas ele eles em entre era eram essa essas esse esses esta está estão estar estas estava este estes eu foi foram
há isso isto já lhe lhes mais mas me mesmo meu meus minha minhas muito na não nas nem no nos nós nossa nosso num numa
o onde os ou outra outras outro outros para pela pelas pelo pelos pode podem por porque porquê qual quais quando
quanta quantas quanto quantos que quê quem são se sem ser será seu seus si sido só sob sobre sua suas também tão te
tem têm ter teu toda todas todo todos tu tua um uma umas uns você vocês nossos nossas
aonde cuja cujas cujo cujos
"""
_DUTCH = """
aan al alle alleen als altijd andere ben bij dan dat de deze die dit doen door dus een eens elk elke en er geen geweest
haar had hadden heb hebben heeft hem het hier hij hoe hoeveel hun iemand iets ik in is ja je jij jou jouw jullie kan
kon kunnen maar me meer men met mij mijn moet moeten na naar niet niets nog nu of om omdat onder ons onze ook op over
reeds te tegen toch toen tot tussen uit uw van veel voor waar waarom wanneer want waren was wat we wel welk welke werd
wie wij wil worden wordt ze zelf zich zij zijn zo zonder zou zouden
waaraan waarbij waardoor waarheen waarin waarmee waarop waarover waaruit waarvan waarvoor
"""
_SWEDISH = """
alla allt än är att av blev bli blir de dem den denna deras dess dessa det detta dig din ditt du då där efter ej
eller en er era ett från för ha hade han hans har henne hennes hon honom hur här i icke in ingen inom inte jag kan
kunde man med mellan men mig min mina mitt mot mycket måste ni nu när någon något några och om oss på samma sedan sig
sin sina sitt ska skall skulle som så till under upp ut utan vad var vara varför varje vars vart vem vi vid vilka
vilken vilket vår våra över
"""
_DANISH = """
ad af alle alt anden at blev blive bliver da de dem den denne der deres det dette dig din dit dog du efter eller en
end er et for fra få får ham han hans har havde have hende hendes her hos hun hvad hvem hver hvilke hvilken hvilket
hvis hvor hvordan hvorfor hvornår i ikke ind ingen jeg jer jo kan kunne man mange med meget mellem men mig min mit
mod må nogen noget nogle nu når og også om op os over på selv sig sin sine sit skal skulle som sådan thi til ud uden
under var ved vi vil ville vor være været
"""
_NORWEGIAN = """
alle alt at av ble bli blir både da de deg dem den denne der dere deres det dette din ditt du eller en er et etter få
får for fordi fra før ha hadde han hans har hennes her hos hun hva hvem hver hvilke hvilken hvilket hvis hvor hvordan
hvorfor i ikke ingen inn jeg kan kunne man mange med meg mellom men min mitt mot må noe noen nå når og også om opp oss
over på seg selv sin sine sitt skal skulle slik som så til ut uten under var ved vi vil ville vår være vært
"""
_POLISH = """
a aby albo ale ani aż bardzo bez być był była było były będzie będą bo by chce co czy dla do gdy gdyż gdzie i ich
ile im inne iż ja jak jaka jaki jakie jako je jeden jednak jego jej jest jestem jeszcze jeśli już kiedy kto która
które którego której który których którzy lub ma mają może można mnie moja mój my na nad nam nas nasz nasza nasze nie
nich nim niż o od oraz po pod podczas ponieważ przed przez przy się są swoje ta tak także tam te tego tej ten to tu ty
tych tylko tym w was wasz we wiele więc wszystko wszystkie z za ze że
"""
_RUSSIAN = """
а без более бы был была были было быть в вам вас весь во вот все всего всех вы где да даже для до его ее её если есть
еще ещё же за здесь и из или им их к как какая какие какой ко когда которая которого которое которые который кто куда
ли либо между меня мне может можно мой моя мы на над надо нам нас наш не него нее ней нет ни них но о об однако он она
они оно от очень по под после почему при про с сам свой себя сейчас со сколько так также такой там те тем то тогда
того тоже той только том ты у уже хотя чего чей чем через что чтобы эта эти это этого этой этом этот я
"""
_FINNISH = """
ei eikä eivät ei että he hän häntä ja jo joka jonka jos jossa jota jotka kaikki kanssa koska kuin kuinka kuka kun ketkä
lisäksi me mikä mikäli miksi milloin minkä minun minä missä mistä mitkä mitä mutta myös ne niiden niin niitä noin nuo
nyt oli olivat olla olen olet on ollut ovat saa se sekä sen siellä siihen siinä siitä sinä sitä tai tai tämä tämän
tässä tätä te tuo vain vai vielä voi voivat ja
"""
_TURKISH = """
acaba ama ancak ait az bana bazı belki ben benim beri bile bir biri biz bizim bu buna bunda bunlar bunu bunun çok
çünkü da daha de değil diye en gibi hangi hem henüz hep hepsi her hiç için ile ise kadar kaç ki kim kime kimin mı mi mu
mü nasıl ne neden nerede nereye niçin niye o olan olarak oldu olduğu olur ona onlar onu onun orada pek sadece sana sen
senin siz şey şu tüm var ve veya ya yani yok
"""
_ARABIC = """
أم أما أن أنا أنت أو أي أيضا أين إذا إلا إلى إن إنه التي الذي الذين اللذان اللتان بعد بعض بل بين
تكون تم ثم حتى حول حين خلال ذات ذلك سوف عبر عليه عليها علي على عن عند عندما غير فإن فقط في فيه فيها
قبل قد كان كانت كل كم كما كيف لأن لا لدى لقد لكن للذي لم لماذا لن له لها لهم لو ليس ليست ما ماذا متى
مثل مع من منذ منه منها نحن نعم هذا هذه هل هم هن هنا هناك هو هي و وأن وقد وكان ولا ولكن وما ومن وهو
وهي يكون يوجد توجد يمكن
"""
_LISTS = {
    "english": " ".join(
        (_ENGLISH, _ENGLISH_CONTRACTIONS, _ENGLISH_CONTRACTIONS.replace("'", "’"), _BEFORE_APOSTROPHES)
    ),
    "german": _GERMAN, "french": _FRENCH, "spanish": _SPANISH, "italian": _ITALIAN,
    "portuguese": _PORTUGUESE, "dutch": _DUTCH, "swedish": _SWEDISH, "danish": _DANISH, "norwegian": _NORWEGIAN,
    "polish": _POLISH, "russian": _RUSSIAN, "finnish": _FINNISH, "turkish": _TURKISH,
    "arabic": _ARABIC,
}  # fmt: skip
FUNCTION_WORDS: dict[str, frozenset[str]] = {name: frozenset(words.split()) for name, words in _LISTS.items()}
# Those of all languages. Of single letters, those that stand alone: the others are what is left of "l'eau" or "what's".
_LETTERS = frozenset("aàeiouy")
ALL_FUNCTION_WORDS: frozenset[str] = _LETTERS | {
    word for words in FUNCTION_WORDS.values() for word in words if len(word) > 1
}
