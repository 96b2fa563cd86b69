"""How many bytes a chunk needs: python -m ragsite.embedded var/sizing --throwaway python -m benchmarks.ingestion.sizing

Writes synthetic chunks of the default size (about 256 tokens, vectors of 384 dimensions), builds the vector index, and
prints the size of each table and index per chunk. BENCH_CHUNKS changes the number.
"""

import os
import subprocess
import sys

from benchmarks.support.set_up import set_up_django

# What English prose of 256 OpenAI tokens has: words, and tokens of the local model.
_WORDS, _TOKENS = 190, 250
SIZES = """
SELECT relation.relname, index.relname, pg_table_size(index.oid)
FROM pg_class relation JOIN pg_index ON indrelid = relation.oid JOIN pg_class index ON index.oid = indexrelid
WHERE relation.relnamespace = 'public'::regnamespace AND relation.relkind = 'r'
UNION ALL
SELECT relname, '', pg_table_size(oid) FROM pg_class WHERE relnamespace = 'public'::regnamespace AND relkind = 'r'
ORDER BY 1, 2
"""


def main() -> None:
    set_up_django()
    from django.db import connection

    from benchmarks.search import synthetic_organizations

    subprocess.run([sys.executable, "manage.py", "migrate", "--verbosity=0"], check=True)
    chunks = int(os.environ.get("BENCH_CHUNKS", "20000"))
    synthetic_organizations.Library(chunks, words=_WORDS, tokens=_TOKENS).open_reader(5)
    synthetic_organizations.build_index()
    print(f"{chunks:,} chunks of {_WORDS} words")
    with connection.cursor() as cursor:
        cursor.execute(SIZES)
        sizes = cursor.fetchall()
    total = 0
    for table, index, size in sizes:
        total += size
        if size / chunks >= 1:
            print(f"{size / chunks:>9,.0f} bytes per chunk  {table} {index}")
    print(f"{total / chunks:>9,.0f} bytes per chunk in all")


if __name__ == "__main__":
    main()
