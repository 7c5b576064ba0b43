package expr

import (
	"strings"

	"github.com/jobagent/jobagent/testenv/tsqld/compile/eval"
	"github.com/jobagent/jobagent/testenv/tsqld/compile/keys"
	"github.com/jobagent/jobagent/testenv/tsqld/compile/tree"
)

// jsonKeys are the prefixes of the keys of functions that return JSON.
var jsonKeys = []string{
	keys.Builtin + "|JSON_QUERY|",
	keys.Builtin + "|JSON_MODIFY|",
	keys.JSONObject + "|",
	keys.JSONArray + "|",
}

// IsJSON reports whether a node yields JSON text, which FOR JSON, JSON_MODIFY, JSON_OBJECT and
// JSON_ARRAY insert into their documents unquoted ("JSON_MODIFY (Transact-SQL)"). These are the
// results of JSON_QUERY, JSON_MODIFY, JSON_OBJECT, JSON_ARRAY and FOR JSON; with
// WITHOUT_ARRAY_WRAPPER the text of FOR JSON need not be JSON and is quoted.
//
// The answer depends on the expression that is left after constant conditions are decided and
// derived tables are merged, not on the value in a row. ISNULL, variables, columns of tables and
// set operations, and a CASE whose conditions depend on values, yield plain text.
func IsJSON(n *tree.Node) bool {
	switch n.Op {
	case tree.OpCall:
		for _, key := range jsonKeys {
			if strings.HasPrefix(n.Key, key) {
				return true
			}
		}
	case tree.OpScalar:
		return n.Query.Document == tree.DocumentJSON && n.Query.IsWrapped
	case tree.OpCol:
		q := n.Source.Query
		return n.Column >= 0 && q != nil && q.Core != nil && IsJSON(q.Core.Items[n.Column])
	case tree.OpCase:
		for i := 0; i+1 < len(n.Args); i += 2 {
			if n.Args[i].Traits&^tree.CanFail != 0 {
				return false
			}
			v, err := eval.Node(n.Args[i], nil, nil)
			if err != nil {
				return false
			}
			if v == int64(1) {
				return IsJSON(n.Args[i+1])
			}
		}
		return IsJSON(n.Args[len(n.Args)-1])
	}
	return false
}
