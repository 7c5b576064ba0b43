// Package tokens is the place of the parser in a text: a cursor over the tokens.
//
//	func upd(c *tokens.Cursor) syntax.Stmt {
//		c.Expect("UPDATE", "STATISTICS") // error 102 or 156 at another token
//		s := &syntax.UpdateStatisticsStmt{Table: term.Name(c)}
//		if c.Accept("WITH") { // consumes the word if it comes next
//			s.Options = term.OptionList(c, false)
//		}
//		return s
//	}
//
// Words are in capitals. The scanner stays in step with the parser; only [Cursor.Matching] and
// [Cursor.MarkDeclared] scan the whole text.
package tokens
