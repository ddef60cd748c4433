-- tableoid of tables and of the catalog's relations
create table t (a int not null, b text);
create table u (a int primary key);
insert into t values (1, 'x'), (2, 'y');
insert into u values (1);
select tableoid::regclass, a from t order by a;
select t.tableoid = 't'::regclass, u.tableoid::regclass from t left join u on t.a = u.a order by t.a;
select c.tableoid::regclass, relname from pg_class c where relname = 't';
select tableoid::regclass, nspname from pg_namespace where nspname = 'public';
select x.tableoid::regclass from (select 1 as a) x;
select tableoid from t, u;
select tableoid::regclass, count(*) from t group by tableoid;
create table own (tableoid int);
