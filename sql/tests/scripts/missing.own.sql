-- what PostgreSQL has and this has not is named
create table t (a int primary key, b int);
alter table t attach partition p for values in (1);
alter table t set unlogged;
alter table t alter a set statistics 3;
create rule r as on insert to t do instead nothing;
create or replace rule r as on insert to t do nothing;
drop rule r on t;
create statistics s on a, b from t;
create text search configuration c (copy = english);
alter routine f() rename to g;
alter extension e update;
alter publication p add table t;
alter system set work_mem = 1;
alter large object 1 owner to someone;
alter event trigger e disable;
alter foreign table f rename to g;
alter language l rename to m;
create trusted procedural language l;
alter user mapping for x server s options (a 'b');
drop server s;
drop transform for int language c;
alter table t cluster on t_pkey;
alter table t set tablespace x;
alter table t set access method heap;
alter table t inherit u;
create table x (c int, exclude using gist (c with =));
-- forms that PostgreSQL does not have are errors of syntax
alter table t attach p;
create rulex r;
create or replace rulex r;
drop triggers g;
select rule rule rule from t;
-- of another type, of XML, and functions of which nothing is there
create view w as select a from t;
alter view w alter column a set default 1;
alter view w alter a drop default;
alter table t of u;
alter table t not of;
create table x of u;
select xmlelement(name a, b) from t;
select xmlforest(a) from t;
select xmlparse(document '<a/>');
select xmlserialize(content null as text);
select xmlexists('/a' passing null);
select xmlagg(null), xpath('/a', null);
select null is document;
select int4range(1, 2);
select pg_stat_get_numscans(1);
select point(1, 2);
select xmlnothing(1);
alter view w alter;
-- not where the words only stand in a statement that is wrong
create table y (xmlroot int);
select xmlroot from y limit 1 2;
alter table of;
create function area(a int, b int) returns int language sql as $$ select a * b $$;
select area(1);
select current_catalog(1);

-- Extensions that do not exist here; indexes on functions of users.
create extension postgis;
create table of_words (word text);
create function folded(text) returns text language sql immutable as 'select lower($1)';
create index on of_words (folded(word));
create index on of_words (word) where folded(word) > 'a';
drop table of_words;
drop function folded;
