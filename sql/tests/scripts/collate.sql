-- COLLATE wherever an expression may carry it.
select 'a'::text collate "C";
select 'a'::text collate "C" < 'b' collate "C";
select ('a' || 'b'::text collate "C") collate "C";
select cast('x' as varchar) collate "C" || 'y';
select 1 collate "C";
create table c1 (a text collate "C" default 'x'::text,
  b varchar(3) default 'y'::varchar collate "C" not null);
insert into c1 default values;
select * from c1 where a::text collate "C" > 'a'
 order by b::text collate "C" desc;
drop table c1;
