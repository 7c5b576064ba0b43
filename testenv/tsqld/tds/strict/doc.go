// Package strict reads what a server sends as strictly as Microsoft's own clients do: by what MS-TDS says that a server
// must send, and as Microsoft.Data.SqlClient reads where it relies on more. It shares no code with package tds, whose
// mistakes it is to find.
//
// Where SqlClient relies on more than MS-TDS says:
//
//   - it takes the form of a value from the nullable flag of its column, not from the type's token;
//   - it takes the size that COLMETADATA announces for a decimal as the size of every value in a bulk load, and reads 17
//     bytes of a decimal in a sql_variant whatever the length says;
//   - it reads a RETURNVALUE by the nullable form of its type always;
//   - it takes the name of the table of a text, ntext or image column from COLMETADATA.
//
// The package is for tests only. [Watch] makes a test fail at the first deviation on any connection of a server.
package strict
