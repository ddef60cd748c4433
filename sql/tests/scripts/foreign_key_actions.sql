-- What happens to rows that refer to what goes.
create table p (id int primary key, name text);
create table c (id int primary key, p_id int default 0
  references p on delete cascade on update cascade, note text);
insert into p select g, 'p' || g from generate_series(0, 5) g;
insert into c select g, g % 4, 'c' || g from generate_series(1, 9) g;
insert into c values (10, null, 'none');
delete from p where id = 1;
select * from c order by id;
update p set id = 20 where id = 2 returning *;
select id, p_id from c order by id;
update p set id = id + 100;
select id, p_id from c order by id;
update p set name = 'x';
delete from p returning id;
select * from c;
insert into c values (11, 3, 'y');
drop table c;
-- SET NULL and SET DEFAULT.
create table c (id int primary key, p_id int default 0
  references p on delete set null on update set default);
insert into p select g, 'p' || g from generate_series(0, 5) g;
insert into c select g, g % 4 from generate_series(1, 9) g;
delete from p where id in (1, 2);
select * from c order by id;
update p set id = 30 where id = 3;
select * from c order by id;
update p set id = 31 where id = 0;
delete from c where p_id = 0;
delete from p where id = 0;
insert into c values (20, 4), (21, 5);
update p set id = 6 where id = 4;
select * from c order by id;
drop table c;
create table c (id int primary key, p_id int not null default 7
  references p on delete set null on update set default);
insert into c values (1, 5);
delete from p where id = 5;
update p set id = 50 where id = 5;
insert into p values (7, 'seven');
update p set id = 50 where id = 5;
select * from c;
update p set id = 70 where id = 7;
drop table c, p;
-- Several columns, and some of them.
create table p (a int, b int, primary key (a, b));
create table c (id int primary key, x int, y int default 9,
  foreign key (x, y) references p on delete set null (y) on update cascade);
insert into p values (1, 1), (1, 2), (2, 1), (2, 9);
insert into c values (1, 1, 1), (2, 1, 2), (3, 2, 1), (4, null, 5), (5, 1, null);
delete from p where b = 2;
update p set a = a + 10 where a = 1;
select * from c order by id;
update p set b = 5 where a = 2 and b = 1;
select * from c order by id;
drop table c;
create table c (id int primary key, x int default 3, y int default 9,
  foreign key (x, y) references p on delete set default (y) on update set null);
insert into c values (1, 2, 5), (2, 11, 1);
delete from p where a = 2 and b = 5;
select * from c order by id;
update p set a = 12 where a = 11;
select * from c order by id;
drop table c;
create table c (x int, y int, z int, foreign key (x, y) references p on delete set null (z));
create table c (x int, y int, z int, foreign key (x, y) references p on delete set null (w));
create table c (x int, y int,
  foreign key (x, y) references p
  on update set null (x));
create table c (x int, y int,
  foreign key (x, y) references p
  on delete cascade (x));
drop table p;
-- Through several tables, and back.
create table a (id int primary key);
create table b (id int primary key, a_id int references a on delete cascade on update cascade);
create table d (id int primary key, b_id int references b on delete cascade on update cascade,
  a_id int references a on delete set null on update cascade);
insert into a values (1), (2), (3);
insert into b values (10, 1), (11, 1), (12, 2), (13, null);
insert into d values (100, 10, 2), (101, 11, 1), (102, 12, 1), (103, 13, 3);
delete from a where id = 1;
select * from b order by id;
select * from d order by id;
update a set id = id * 10;
update b set id = id * 10;
select * from b order by id;
select * from d order by id;
drop table d, b, a;
create table a (id int primary key, b_id int);
create table b (id int primary key, a_id int references a on delete cascade);
alter table a add foreign key (b_id) references b on delete cascade;
insert into a values (1, null), (2, null), (3, null);
insert into b values (1, 1), (2, 2), (3, 3);
update a set b_id = id % 3 + 1;
delete from a where id = 2;
select count(*) from a;
select count(*) from b;
drop table a, b cascade;
-- An action that is stopped by another key undoes everything.
create table a (id int primary key);
create table b (id int primary key references a on delete cascade on update cascade);
create table d (id int references b);
insert into a values (1), (2);
insert into b values (1), (2);
insert into d values (1);
delete from a;
update a set id = 5 where id = 1;
delete from a where id = 2;
select * from a;
select * from b;
delete from d;
delete from a;
select * from b;
drop table d, b, a;
-- One table is left alone until another action has been.
create table a (id int primary key);
create table b (id int primary key, a_id int references a on delete cascade);
create table d (id int primary key, a_id int references a on delete cascade, b_id int references b);
insert into a values (1);
insert into b values (1, 1);
insert into d values (1, 1, 1);
delete from a;
select * from d;
drop table d;
create table d (id int primary key, a_id int references a on delete cascade,
  b_id int references b on delete restrict);
insert into a values (1);
insert into b values (1, 1);
insert into d values (1, 1, 1);
delete from a;
drop table d, b, a;
