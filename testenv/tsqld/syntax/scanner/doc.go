// Package scanner splits the text of a batch into tokens, and has the lexical rules of T-SQL: which
// words are reserved, and which names need brackets.
//
// Common mistakes: treating every keyword as reserved. Most keywords are contextual; only reserved
// ones ([Token.IsReserved]) cannot be names without quotes. DATE, VALUE, DELAY and JSON can.
package scanner
