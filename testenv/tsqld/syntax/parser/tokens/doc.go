// Package tokens is the place of the parser in a text: a cursor over the tokens.
//
//	func reconfigure(c *tokens.Cursor) syntax.Stmt {
//		c.Expect("RECONFIGURE") // error 102 or 156 at another token
//		s := &syntax.ReconfigureStmt{}
//		if c.Accept("WITH") { // consumes the word if it comes next
//			c.Expect("OVERRIDE")
//			s.Override = true
//		}
//		return s
//	}
//
// Words are in capitals. The scanner stays in step with the parser; only [Cursor.Matching] and
// [Cursor.MarkDeclared] scan the whole text.
package tokens
