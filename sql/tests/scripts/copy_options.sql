-- Which options of COPY go together.
create table o (a int, b text);
copy binary o to stdout with (format csv);
copy binary o to stdout with csv;
copy o to stdout binary csv;
copy o to stdout with csv binary;
copy o to stdout with (format binary, format binary);
copy o to stdout with (format csv, format nosuch);
copy binary (select 1) to stdout;
copy o to stdout with (format binary, delimiter ',');
copy o to stdout (format binary, null '');
copy binary o to stdout delimiter ',';
copy binary o to stdout with null as '';
copy o to stdout with (format binary, header);
copy o from stdin with (format binary, header true);
\.
copy o to stdout with (format binary, quote '"');
copy o to stdout with (format binary, escape '"');
copy o to stdout with (format binary, force_quote *);
copy o to stdout with (format binary, force_quote (a));
copy o to stdout with (format binary, delimiter ',', null '');
copy o to stdout with (delimiter ',', delimiter ';');
copy o to stdout delimiter ',' delimiter ';';
copy o to stdout with (null 'x', null 'y');
copy o to stdout with (header, header false);
copy o to stdout with (format csv, quote '"', quote '"');
copy o to stdout with (format csv, escape '"', escape '"');
copy o to stdout (format csv, force_quote *, force_quote *);
copy o to stdout with (encoding 'utf8', encoding 'utf8');
copy o to stdout with (freeze, freeze);
copy o to stdout with (freeze 2);
copy o to stdout with (header nosuch);
copy o from stdin with (format csv, force_quote (a));
\.
copy o to stdout with (header false, format binary, delimiter 'ab');
copy o (nosuch) to stdout (format binary);
copy nosuch from stdin binary;
\.
drop table o;
