// Package types holds SQL Server's data types: descriptors ([Type]), values, the rules of
// conversion, precedence, arithmetic, comparison and formatting.
//
// A [Value] is any of nil (NULL), int64, float64, string and []byte, and means something only
// together with its [Type]. The same representation is stored in SQLite, held by variables, passed
// to built-in functions and encoded on the wire, so that nothing is converted on the way:
//
//	bit, tinyint, smallint, int, bigint          int64
//	decimal(p,s), numeric(p,s) with p <= 18      int64, the value times 10^s (exact, sorts by itself)
//	decimal(p,s), numeric(p,s) with p > 18       string, canonical: optional '-', digits, '.', exactly s digits (no '.' when s = 0);
//	                                             compared by the SQLite collation "decimal"
//	money, smallmoney                            int64, the value times 10^4
//	float, real                                  float64
//	char, varchar, nchar, nvarchar, text, ntext, xml   string, UTF-8; char and nchar are padded with blanks;
//	                                             compared by the SQLite collation of the type's Collation
//	binary, varbinary, image, rowversion         []byte; binary is padded with zero bytes
//	uniqueidentifier                             []byte of 16 in the order in which SQL Server sorts: bytes 10-15, 8-9, 6-7, 4-5, 0-3 of the
//	                                             wire form ([GUIDToWire], [GUIDFromWire], [ParseGUID], [FormatGUID])
//	date, datetime, smalldatetime, datetime2     int64, 100 ns ticks since 0001-01-01 00:00 (date: of its midnight; datetime: already rounded to 1/300 s)
//	time                                         int64, 100 ns ticks since midnight
//	datetimeoffset                               []byte of 10: big-endian UTC ticks (8), big-endian offset in minutes + 840 (2)
//	sql_variant                                  []byte: an encoded Type, then the value ([VariantPack], [VariantUnpack])
package types
