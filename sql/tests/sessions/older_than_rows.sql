-- Changes of tables beside snapshots that are older. What leaves the rows alone leaves their versions.
z: create table other (id int primary key);
z: create table t (id int, v int, unique (id));
z: insert into t values (1, 10), (2, 20), (3, 30);
a: begin isolation level repeatable read;
a: select count(*) from other;
z: update t set v = 11 where id = 1;
z: delete from t where id = 2;
z: insert into t values (4, 40);
z: alter table t add constraint positive check (v > 0);
z: alter table t alter v set default 5;
z: alter table t alter v set not null;
z: alter table t add unique (v);
z: create index t_v on t (v);
z: alter table t rename v to w;
z: drop index t_v;
z: alter table t rename to u;
a: select id, w from u order by id;
a: select id, w from u where id = 2;
a: commit;
a: select id, w from u order by id;
z: alter table u rename w to v;
z: alter table u rename to t;

-- What is taken back, has not been.
z: alter table t drop constraint t_v_key;
a: begin isolation level repeatable read;
a: select count(*) from other;
z: begin;
z: update t set v = 12 where id = 1;
z: alter table t add primary key (id);
z: truncate t;
z: rollback;
z: begin;
z: savepoint one;
z: alter table t add column w int default 7;
z: rollback to one;
z: update t set v = 13 where id = 1;
z: commit;
a: select * from t order by id;
a: commit;

z: update t set v = 14 where id = 1;
z: alter table t add primary key (id);

-- Younger snapshots.
z: alter table t alter v type text using v || '!';
a: begin isolation level repeatable read;
a: select * from t order by id;
z: update t set v = 'new' where id = 1;
a: select * from t order by id;
a: select count(*) from other;
a: commit;

-- Under READ COMMITTED each statement sees what there is.
a: begin;
a: select count(*) from other;
z: update t set v = 'newer' where id = 1;
z: alter table t add column w int not null default 8;
a: select * from t order by id;
z: truncate other;
a: select * from t order by id;
a: commit;

-- A transaction's own.
a: begin isolation level repeatable read;
a: select count(*) from other;
a: update t set v = 'mine' where id = 3;
a: alter table t drop column w;
a: alter table t add column x int default 9;
a: update t set x = 10 where id = 4;
a: select * from t order by id;
a: savepoint one;
a: alter table t alter x type text using x || '?';
a: select * from t order by id;
a: rollback to one;
a: select * from t order by id;
a: truncate t;
a: insert into t values (5, 'five', 5);
a: select * from t order by id;
a: rollback;
a: select * from t order by id;
a: begin isolation level repeatable read;
a: create table mine (id int, v int);
a: insert into mine values (1, 1);
a: alter table mine add primary key (id);
a: select * from mine;
a: commit;
z: drop table t, other, mine;
