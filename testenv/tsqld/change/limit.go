package change

import (
	"strconv"

	"github.com/jobagent/jobagent/testenv/tsqld/syntax"
)

// Limited returns a statement that SET ROWCOUNT limits to a number of rows, with TOP; 0 means no
// limit. A statement with a TOP of its own is not limited ("SET ROWCOUNT (Transact-SQL)").
func Limited(st syntax.Stmt, rows int64) syntax.Stmt {
	if rows == 0 {
		return st
	}
	switch st := st.(type) {
	case *syntax.InsertStmt:
		if st.Top != nil {
			return st
		}
		switch source := st.Source.(type) {
		case *syntax.InsertDefaults:
			return st // one row
		case *syntax.InsertValues:
			c, values := *st, *source
			values.Rows = values.Rows[:min(rows, int64(len(values.Rows)))]
			c.Source = &values
			return &c
		case *syntax.InsertQuery:
			if s, ok := source.Query.Body.(*syntax.Select); ok && s.Top != nil {
				return st
			}
		}
		c := *st
		return withTop(&c, &c.Top, rows)
	case *syntax.UpdateStmt:
		c := *st
		return withTop(&c, &c.Top, rows)
	case *syntax.DeleteStmt:
		c := *st
		return withTop(&c, &c.Top, rows)
	case *syntax.MergeStmt:
		c := *st
		return withTop(&c, &c.Top, rows)
	}
	return st
}

// withTop gives st TOP (rows) unless it has a TOP. top is its field.
func withTop(st syntax.Stmt, top **syntax.Top, rows int64) syntax.Stmt {
	if *top == nil {
		*top = &syntax.Top{Count: &syntax.Literal{Kind: syntax.IntLit, Text: strconv.FormatInt(rows, 10)}, Paren: true}
	}
	return st
}
