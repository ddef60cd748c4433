-- values of a subquery are found, whatever they are
create table a (i int, f float8, n numeric, t text, c char(3));
insert into a values (1, 0, 1.0, 'x', 'x'),
  (2, 'NaN', 1.00, 'y', 'y'), (3, '-0', 2, 'X', 'xy'),
  (null, null, null, null, null);
create table b (i int, f float8, n numeric, t text, c char(5));
insert into b values (2, '-0', 1, 'x', 'x'), (2, 0, 2.0, 'z', 'y'),
  (5, 'NaN', 3, 'x', 'xy  ');
select i from a where i in (select i from b) order by i;
select i from a where f in (select f from b) order by i;
select i from a where n in (select n from b) order by i;
select i from a where t in (select t from b) order by i;
select i from a where c in (select c from b) order by i;
select i from a where i not in (select i from b) order by i;
select i, i in (select i from b) from a order by i;
select i, i not in (select i from b) from a order by i;
insert into b values (null);
select i, i in (select i from b) from a order by i;
select i, i not in (select i from b) from a order by i;
select i, i in (select i from b where false) from a
order by i;
select null in (select i from b where false);
select null in (select i from b), null not in (select 1);
select i from a where i in (select i::bigint from b);
select i from a where i = any (select n from b)
order by i;
select i from a where i <> all (select i from b
where i is not null) order by i;
select i from a where i in (select b.i from b
where b.t = a.t) order by i;
create table k (id int primary key, v int);
insert into k select g, g % 10 from generate_series(1, 2000) g;
select count(*) from k where v in (select id from k);
select count(*) from k where id in (select v from k);
select count(*) from k where id not in (select v from k);
select count(*) from k x where (select count(*) from k y
where y.v in (select z.v from k z where z.id < 4)) > x.id;
delete from k where id in (select id from k where v = 3);
update k set v = -1 where id in (select v from k);
select count(*), sum(v) from k;
create function f() returns int language plpgsql as $$
declare n int := 0; i int;
begin
  for i in 1..3 loop
    update k set v = v + 1 where id = i;
    n := n + (select count(*) from k
      where v in (select v from k where id <= i));
  end loop;
  return n;
end $$;
select f();
select string_agg(distinct (select t.t), ','
  order by (select t.t)) from a t;
select string_agg(distinct (select min(x.t) from b x
  where x.i > a.i), ',' order by (select min(x.t) from b x
  where x.i > a.i) desc) from a;
