package compile

import (
	"strings"

	"github.com/jobagent/jobagent/testenv/tsqld/compile/keys"
)

// jsonKeys are the prefixes of the keys of functions that return JSON.
var jsonKeys = []string{
	keys.Builtin + "|JSON_QUERY|",
	keys.Builtin + "|JSON_MODIFY|",
	keys.JSONObject + "|",
	keys.JSONArray + "|",
}

// isJSON reports whether a node yields JSON text, which FOR JSON, JSON_MODIFY, JSON_OBJECT and
// JSON_ARRAY insert into their documents unquoted ("JSON_MODIFY (Transact-SQL)"). These are the
// results of JSON_QUERY, JSON_MODIFY, JSON_OBJECT, JSON_ARRAY and FOR JSON; with
// WITHOUT_ARRAY_WRAPPER the text of FOR JSON need not be JSON and is quoted.
//
// The answer depends on the expression that is left after constant conditions are decided and
// derived tables are merged, not on the value in a row. ISNULL, variables, columns of tables and
// set operations, and a CASE whose conditions depend on values, yield plain text.
func isJSON(n *node) bool {
	switch n.op {
	case opCall:
		for _, key := range jsonKeys {
			if strings.HasPrefix(n.key, key) {
				return true
			}
		}
	case opScalar:
		return n.sub.document == documentJSON && n.sub.isWrapped
	case opCol:
		q := n.src.query
		return n.col >= 0 && q != nil && q.core != nil && isJSON(q.core.items[n.col])
	case opCase:
		for i := 0; i+1 < len(n.args); i += 2 {
			if n.args[i].traits&^canFail != 0 {
				return false
			}
			v, err := n.args[i].eval(nil, nil)
			if err != nil {
				return false
			}
			if v == int64(1) {
				return isJSON(n.args[i+1])
			}
		}
		return isJSON(n.args[len(n.args)-1])
	}
	return false
}
