-- The text of a trigger with a backslash in an argument, and its comment.
create table t (a int);
create function f() returns trigger language plpgsql as $$ begin return new; end $$;
create trigger b before insert on t for each row execute function f('a\b', 'it''s', E'\\''');
comment on trigger b on t is 'a comment';
select pg_get_triggerdef(oid) from pg_trigger where tgname = 'b';
select obj_description(oid, 'pg_trigger') from pg_trigger where tgname = 'b';
