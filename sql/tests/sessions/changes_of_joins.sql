-- UPDATE ... FROM and DELETE ... USING whose rows are changed meanwhile: they are looked at again, beside the
-- same rows of the others.
z: drop table if exists t;
z: drop table if exists u;
z: create table t (k int primary key, v int, w int);
z: create table u (id int, k int, n int);

-- WHERE still holds: the new row is changed.
z: insert into t values (1, 1, 0), (2, 2, 0), (3, 3, 0);
z: insert into u values (1, 1, 10), (2, 2, 20), (3, 2, 30);
a: begin;
a: update t set v = v + 100 where k = 1;
b: begin;
b: update t set w = t.v + u.n from u where u.k = t.k and t.v < 500 returning t.*, u.n;
a: commit;
b: select * from t order by k;
b: commit;

-- It does not hold any more.
a: begin;
a: update t set v = 1000 where k = 2;
b: update t set w = -1 from u where u.k = t.k and t.v < 500 returning t.*, u.n;
a: commit;
b: select * from t order by k;

-- It is gone.
a: begin;
a: delete from t where k = 2;
b: delete from t using u where u.k = t.k returning *;
a: commit;
b: select * from t order by k;

-- Others are read as they were.
z: insert into t values (1, 1, 0), (2, 2, 0);
a: begin;
a: update t set v = v + 1 where k = 2;
a: update u set n = n + 1000;
b: begin;
b: update t set v = t.v + (select min(u.n) from u where u.k = t.k), w = u.n from u where u.k = t.k;
a: commit;
b: commit;
z: select * from t order by k;

-- Under REPEATABLE READ it fails.
a: begin;
a: update t set v = 5 where k = 1;
b: begin isolation level repeatable read;
b: update t set v = 6 from u where u.k = t.k;
a: commit;
b: rollback;
z: select * from t order by k;
