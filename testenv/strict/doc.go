// Package strict reads a server's output as strictly as Microsoft's own clients: it follows the
// requirements of MS-TDS, and Microsoft.Data.SqlClient where that client relies on more. It shares
// no code with package tds, because its purpose is to find defects of that package.
//
// SqlClient relies on more than MS-TDS:
//
//   - it derives the form of a value from the nullable flag of its column, not from the type's
//     token;
//   - it takes the size that COLMETADATA announces for a decimal as the size of every value in a
//     bulk load, and reads 17 bytes of a decimal in a sql_variant whatever the length is;
//   - it always reads a RETURNVALUE in the nullable form of its type;
//   - it takes the table name of a text, ntext or image column from COLMETADATA.
//
// The package is for tests only. With [Watch] a test fails at the first deviation on any connection
// of a server.
package strict
