-- A condition that changes the row it is about ends all the same. (PostgreSQL refuses some of these with 27000.)
z: create table t (id int primary key, v int);
z: insert into t values (1, 1), (2, 2);
z: create function bump(i int) returns boolean language plpgsql as $$ begin update t set v = v + 1 where id = i; return true; end $$;
a: begin;
a: update t set v = v + 100 where bump(id);
a: select * from t order by id;
a: select * from t where bump(id) for update;
a: commit;
a: begin isolation level repeatable read;
a: delete from t where bump(id);
a: rollback;
a: select * from t order by id;

-- A schema change holds nothing that those it waits for might want.
a: begin;
a: select count(*) from t;
b: truncate t;
a: update t set v = 0 where id = 1;
a: commit;
a: select count(*) from t;
