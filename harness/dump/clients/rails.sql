-- What migrations in the style of Rails create: bigserial keys, polymorphic references, JSON columns, indexes of
-- expressions.
CREATE TABLE schema_migrations (version character varying NOT NULL PRIMARY KEY);
CREATE TABLE ar_internal_metadata (key character varying NOT NULL PRIMARY KEY, value character varying, created_at timestamp(6) without time zone NOT NULL, updated_at timestamp(6) without time zone NOT NULL);
CREATE TYPE article_state AS ENUM ('drafted', 'published', 'archived');
CREATE TABLE articles (id bigserial primary key, title character varying, body text, state article_state DEFAULT 'drafted'::article_state NOT NULL, settings jsonb DEFAULT '{}'::jsonb NOT NULL, published_at timestamp without time zone, comments_count integer DEFAULT 0 NOT NULL, author_type character varying, author_id bigint, created_at timestamp(6) without time zone NOT NULL, search_title character varying GENERATED ALWAYS AS (lower(title)) STORED);
CREATE INDEX index_articles_on_author ON articles USING btree (author_type, author_id);
CREATE UNIQUE INDEX index_articles_on_lower_title ON articles USING btree (lower((title)::text)) WHERE (state <> 'archived'::article_state);
CREATE INDEX index_articles_on_published ON articles USING btree (published_at DESC NULLS LAST) WHERE (state = 'published');
CREATE TABLE comments (id bigserial primary key, article_id bigint NOT NULL, parent_id bigint, body text NOT NULL, CONSTRAINT fk_rails_3bf61a60d3 FOREIGN KEY (article_id) REFERENCES articles(id), CONSTRAINT fk_rails_31554e7034 FOREIGN KEY (parent_id) REFERENCES comments(id) ON DELETE SET NULL);
CREATE INDEX index_comments_on_article_id ON comments USING btree (article_id);
ALTER TABLE articles ADD CONSTRAINT published_has_time CHECK (state <> 'published' OR published_at IS NOT NULL) NOT VALID;
INSERT INTO schema_migrations VALUES ('20240101000000'), ('20240102000000');
INSERT INTO articles (title, state, settings, published_at, created_at) VALUES ('First', 'published', '{"pinned": true}', '2024-03-01 00:00:00', '2024-02-01 00:00:00'), ('Second', 'drafted', '{}', NULL, '2024-02-02 00:00:00.5');
INSERT INTO comments (article_id, parent_id, body) VALUES (1, NULL, E'line\nbreak'), (1, 1, 'tab	tab');
