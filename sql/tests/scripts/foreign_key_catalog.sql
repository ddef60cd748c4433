-- What the catalog tells of foreign keys.
create table p (a int, b int, primary key (a, b));
create table c (a int, b int,
  constraint k1 foreign key (a, b) references p on delete cascade on update set null,
  constraint k2 foreign key (a, b) references p match full on delete set default on update restrict,
  constraint k3 foreign key (b, a) references p (b, a) on delete set null (b) on update cascade,
  constraint k4 foreign key (a, b) references p on delete no action on update set default,
  constraint k5 foreign key (a, b) references p on delete set default (a, b));
select conname, confupdtype, confdeltype, confmatchtype, condeferrable, condeferred, convalidated, confdelsetcols
  from pg_constraint where contype = 'f' order by conname;
select conname, pg_get_constraintdef(oid) from pg_constraint where contype = 'f' order by conname;
select constraint_name, match_option, update_rule, delete_rule
  from information_schema.referential_constraints order by 1;
drop table p;
drop table p cascade;
select count(*) from pg_constraint where contype = 'f';
drop table c;
create table t (id int primary key, up int references t);
select conname, confrelid = conrelid as own from pg_constraint where contype = 'f';
drop table t;
