package names

import "github.com/jobagent/jobagent/testenv/tsqld/syntax"

// Unparen removes parentheses around a query.
func Unparen(body syntax.QueryBody) syntax.QueryBody {
	for {
		p, ok := body.(*syntax.ParenQuery)
		if !ok {
			return body
		}
		body = p.X
	}
}
