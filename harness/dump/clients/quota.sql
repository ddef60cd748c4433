-- A quota service: counters, windows of time, an audit of changes, sequences of all kinds, text search of names.
CREATE SCHEMA quota;
CREATE TYPE quota.period AS ENUM ('minute', 'hour', 'day');
CREATE TYPE quota.verdict AS ENUM ('granted', 'refused');
CREATE SEQUENCE quota.request_numbers AS smallint INCREMENT BY 2 MINVALUE 1 MAXVALUE 999 CYCLE CACHE 3;
CREATE SEQUENCE quota.countdown INCREMENT BY -1 MAXVALUE 100 MINVALUE 0 START WITH 100;
CREATE TABLE quota.plan (id smallserial PRIMARY KEY, name text NOT NULL, period quota.period DEFAULT 'hour' NOT NULL, allowed integer DEFAULT 100 NOT NULL, periods quota.period[] DEFAULT ARRAY['hour'::quota.period, 'day'::quota.period], CONSTRAINT plan_name_key UNIQUE (name, period), CONSTRAINT minute_is_small CHECK (CASE period WHEN 'minute' THEN allowed <= 1000 WHEN 'hour' THEN allowed <= 50000 ELSE true END));
CREATE TABLE quota.usage (plan smallint NOT NULL, subject text NOT NULL, began timestamp with time zone NOT NULL, used integer DEFAULT 0 NOT NULL, verdict quota.verdict GENERATED ALWAYS AS (CASE WHEN used > 10 THEN 'refused'::quota.verdict ELSE 'granted'::quota.verdict END) STORED, CONSTRAINT usage_pkey PRIMARY KEY (plan, subject, began), CONSTRAINT usage_plan_fkey FOREIGN KEY (plan) REFERENCES quota.plan (id) MATCH FULL ON DELETE CASCADE);
CREATE TABLE quota.audit (number smallint DEFAULT nextval('quota.request_numbers'), left_over bigint DEFAULT nextval('quota.countdown'::regclass) NOT NULL, what text DEFAULT 'quota.usage' NOT NULL, verdict quota.verdict DEFAULT 'granted'::quota.verdict, at_day date DEFAULT '2024-06-01'::date, span interval DEFAULT '01:00:00'::interval);
CREATE INDEX usage_refused ON quota.usage (subject, (used - 10)) WHERE verdict = 'refused';
CREATE INDEX usage_subject ON quota.usage USING hash (subject);
CREATE INDEX plan_names ON quota.plan (lower(name), (period > 'minute'));
CREATE FUNCTION quota.ask(of_plan smallint, of_subject text, began_at timestamp with time zone, amount integer DEFAULT 1, OUT verdict quota.verdict) LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO quota.usage (plan, subject, began, used) VALUES (of_plan, of_subject, began_at, amount)
        ON CONFLICT (plan, subject, began) DO UPDATE SET used = usage.used + amount;
    SELECT u.verdict INTO verdict FROM quota.usage u WHERE plan = of_plan AND subject = of_subject AND began = began_at;
END $$;
INSERT INTO quota.plan (name, period, allowed) VALUES ('Basic', 'minute', 10), ('Basic', 'day', 5000);
SELECT quota.ask(1::smallint, 'ann', '2024-06-01 00:00:00+00'), quota.ask(1::smallint, 'ann', '2024-06-01 00:00:00+00', 20), quota.ask(2::smallint, 'bob', '2024-06-01 00:00:00+00', 5);
INSERT INTO quota.audit (what) VALUES ('first'), ('second');
CREATE VIEW quota.refusals AS SELECT u.subject, p.name, u.used - p.allowed AS beyond FROM quota.usage u JOIN quota.plan p ON p.id = u.plan WHERE u.verdict = 'refused' AND p.period <> 'day';
COMMENT ON COLUMN quota.usage.verdict IS 'made of used';
COMMENT ON INDEX quota.usage_refused IS 'only refusals';
-- PostgreSQL's cached numbers are drawn ahead; from here on both go on with the same one.
SELECT setval('quota.request_numbers', 21);
