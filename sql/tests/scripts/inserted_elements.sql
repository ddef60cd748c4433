-- Elements of arrays as targets of INSERT.
create table grid (id int primary key, a int[], b text[] default '{x,y,z}', c int[][], d varchar(3)[], n int default 7);

insert into grid (id, a[1], a[2]) values (1, 10, 20), (2, 30, null) returning id, a, b;
insert into grid (id, a[2], a[1]) values (3, 20, 10) returning a;
insert into grid (id, a[3]) values (4, 5) returning a, array_dims(a);
insert into grid (id, a[1:2]) values (5, '{8,9}') returning a;
insert into grid (id, a[1:2], a[4]) values (6, array[8,9], 11) returning a;
insert into grid (id, b[2]) values (7, 'only') returning b;
insert into grid (id, c[1][2]) values (8, 3) returning c;
insert into grid (id, c[1:1][1:2]) values (9, '{{1,2}}') returning c;
insert into grid (id, a [ 1 ], n) values (10, 1, 2) returning a, n;
insert into grid (id, a[1 + 1]) values (11, 1) returning a;
insert into grid (id, "a"[1]) select 12, 4 returning a;
insert into grid (id, a[1], a[2]) select id + 20, id, id * 2 from grid where id < 3 returning id, a;
insert into grid (id, a[1], b[1]) select g, g, 'n' || g from generate_series(30, 31) g returning id, a, b;
insert into grid (id, d[1]) values (13, 'abc') returning d;
insert into grid (id, d[1]) values (14, 'abcd');
insert into grid (id, a[1]) values (1, 5) on conflict (id) do update set a[1] = excluded.a[1] + 1, b[1] = 'u' returning a, b;
insert into grid as g (id, a[1]) values (15, 5) returning g.a;
with q as (insert into grid (id, a[1]) values (16, 6) returning a) select * from q;
insert into grid (id, a[1]) values (17, '12') returning a;
insert into grid (id, a[1]) values (18, 2.6) returning a;
insert into grid (id, a[1]) select 19, '13' returning a;
prepare put (int, int) as insert into grid (id, a[1], a[$2]) values ($1, $2, 9) returning a;
execute put(40, 2);
create view shown as select id, a from grid;
insert into shown (id, a[1], a[2]) values (41, 1, 2) returning a;

-- Mistakes.
insert into grid (id, a[1], a) values (50, 1, '{2}');
insert into grid (id, a, a[1]) values (50, '{2}', 1);
insert into grid (id, n[1]) values (50, 1);
insert into grid (id, a[1]) values (50, 'x');
insert into grid (id, a[1]) values (50, true);
insert into grid (id, a[1]) values (50, default);
insert into grid (id, z[1]) values (50, 1);
insert into grid (id, a[null]) values (50, 1);
insert into grid (id, a[1], a[3]) values (50, 1);
insert into grid (id, a[]) values (50, 1);
select id, a from grid where id >= 50;
create procedure fill(n int) language plpgsql as $$
begin
  insert into grid (id, a[n], a[n + 1]) values (60 + n, n, n + 1);
end $$;
call fill(2);
select id, a, array_dims(a) from grid where id > 60;
