// samlp as an identity provider on loopback, with one person, who signs in with a button.
import fs from "node:fs";
import express from "express";
import session from "express-session";
import samlp from "samlp";

const { PORT, ISSUER, KEY, CERTIFICATE, ENTITY_ID, CONSUMER, SIGN_OUT, SP_CERTIFICATE, EMAIL } = process.env;
const key = fs.readFileSync(KEY), cert = fs.readFileSync(CERTIFICATE);
const SESSION_INDEX = "_session1";
const person = { id: "ada-17", emails: [{ value: EMAIL }], displayName: "Ada", name: { givenName: "Ada", familyName: "" }, groups: ["writers", "unknown"] };

class Participants {
  constructor(rows) { this.rows = rows; }
  get(issuer, indices, nameId, done) { return done(null, this.rows.find((row) => row.nameId === nameId)); }
  hasElements() { return this.rows.length > 0; }
  getFirst(done) { return done(null, this.rows[0]); }
  remove(issuer, index, nameId, done) {
    const at = this.rows.findIndex((row) => row.nameId === nameId);
    return done(null, at < 0 ? undefined : this.rows.splice(at, 1)[0]);
  }
}

const app = express();
app.use(express.urlencoded({ extended: false }));
app.use((req, res, next) => { req.body ??= {}; next(); });
app.use(session({ secret: "any", resave: false, saveUninitialized: true }));
app.get("/metadata", samlp.metadata({ issuer: ISSUER, cert, redirectEndpointPath: "/sso", postEndpointPath: "/sso", logoutEndpointPaths: { redirect: "/logout" } }));
app.post("/sso", (req, res) => { req.session.person = person; res.redirect(req.originalUrl); });
app.get("/sso", (req, res, next) => {
  if (!req.session.person) return res.send('<form method="post"><button>Sign in as Ada</button></form>');
  samlp.auth({
    issuer: ISSUER, key, cert, sessionIndex: SESSION_INDEX, recipient: CONSUMER, destination: CONSUMER,
    signingCert: SP_CERTIFICATE, nameIdentifierFormat: "urn:oasis:names:tc:SAML:2.0:nameid-format:persistent",
    getUserFromRequest: () => person,
    getPostURL: (audience, request, _, done) => done(audience === ENTITY_ID ? null : new Error(audience), CONSUMER),
  })(req, res, next);
});
app.use("/logout", (req, res, next) => {
  req.session.participants ??= [{
    serviceProviderId: ENTITY_ID, nameId: "ada-17", sessionIndex: SESSION_INDEX, serviceProviderLogoutURL: SIGN_OUT,
    nameIdFormat: "urn:oasis:names:tc:SAML:2.0:nameid-format:persistent", cert: SP_CERTIFICATE,
  }];
  samlp.logout({
    issuer: ISSUER, key, cert, deflate: true, protocolBinding: "urn:oasis:names:tc:SAML:2.0:bindings:HTTP-Redirect",
    sessionParticipants: new Participants(req.session.participants),
    clearIdPSession: (done) => { delete req.session.person; delete req.session.participants; done(); },
  })(req, res, next);
});
app.use((error, req, res, next) => { console.error(error); res.status(500).send(String(error.message)); });
app.listen(Number(PORT), "127.0.0.1");
