-- Storage options that Django's schema editor does not set.

-- Vectors stay in the row: an exact search over vectors in the side table (TOAST) takes six times as long.
ALTER TABLE rag_embedding384 ALTER COLUMN embedding SET STORAGE PLAIN;
ALTER TABLE rag_embedding768 ALTER COLUMN embedding SET STORAGE PLAIN;
ALTER TABLE rag_embedding1536 ALTER COLUMN embedding SET STORAGE PLAIN;
ALTER TABLE rag_embedding3072 ALTER COLUMN embedding SET STORAGE PLAIN;

-- Term counts are updated all the time: free space in each page allows updates that touch no index (HOT).
ALTER TABLE rag_sourceterm SET (fillfactor = 80);

-- Searches of small scopes read the term weights. They are too large for the page uncompressed.
ALTER TABLE rag_chunkterms ALTER COLUMN weights SET STORAGE MAIN;

-- Token signatures do not compress.
ALTER TABLE rag_chunktokensignatures ALTER COLUMN signatures SET STORAGE EXTERNAL;

-- Token signatures are deleted with their chunk, also where SQL deletes chunks without the ORM.
ALTER TABLE rag_chunktokensignatures ADD CONSTRAINT token_signatures_of_chunk
    FOREIGN KEY (chunk_id) REFERENCES rag_chunk (id) ON DELETE CASCADE;
