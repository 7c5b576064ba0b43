package builtin

import "github.com/jobagent/jobagent/testenv/tsqld/types"

// odbcScale implements ODBCSCALE(system_type_id, scale), which is undocumented: the scale in ODBC
// and SqlClient's GetSchema, NULL for types without a scale.
var odbcScale = lenient("ODBCSCALE", 2, 2, fixed(types.IntType), func(_ Env, _ []types.Type, _ types.Type, args []types.Value) (types.Value, error) {
	id, _ := args[0].(int64)
	switch id {
	case 41, 42, 43, 48, 52, 56, 58, 60, 61, 106, 108, 122, 127: // times, integers, money, decimals
		return args[1], nil
	}
	return nil, nil
})
