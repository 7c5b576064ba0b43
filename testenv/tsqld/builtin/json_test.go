package builtin

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/jobagent/jobagent/testenv/tsqld/types"
)

// doc is the text of the examples of "JSON_VALUE (Transact-SQL)", shortened.
const doc = `{"info": {"type": 1, "address": {"town": "Bristol", "county": "Avon"}, "tags": ["Sport", "Water \"polo\""], "none": null}, "type": "Basic", "x y": true}`

func TestJSONFunctions(t *testing.T) {
	text := "nvarchar(max)'" + doc
	check(t, []functionCase{
		{"JSON_VALUE", []string{text + "'", "'$.info.type'"}, "nvarchar(4000)", "1"},
		{"JSON_VALUE", []string{text + "'", "'$.info.address.town'"}, "", "Bristol"},
		{"JSON_VALUE", []string{text + "'", "'$.info.\"address\"'"}, "", "NULL"},
		{"JSON_VALUE", []string{text + "'", "'$.info.tags[1]'"}, "", `Water "polo"`},
		{"JSON_VALUE", []string{text + "'", "'$.info.none'"}, "", "NULL"},
		{"JSON_VALUE", []string{text + "'", "'strict $.nope'"}, "", "#13608"},
		{"JSON_VALUE", []string{text + "'", "'lax $.nope'"}, "", "NULL"},
		{"JSON_VALUE", []string{text + "'", "'strict $.info'"}, "", "#13623"},
		{"JSON_VALUE", []string{text + "'", "'$.\"x y\"'"}, "", "true"},
		{"JSON_VALUE", []string{text + "'", "'x'"}, "", "#13607"},
		{"JSON_VALUE", []string{"'{bad'", "'$'"}, "", "#13609"}, {"JSON_VALUE", []string{"NULL", "'$'"}, "", "NULL"},
		{"JSON_QUERY", []string{text + "'", "'$.info.address'"}, "nvarchar(max)", `{"town": "Bristol", "county": "Avon"}`},
		{"JSON_QUERY", []string{text + "'", "'$.type'"}, "", "NULL"},
		{"JSON_QUERY", []string{text + "'", "'strict $.type'"}, "", "#13624"},
		{"JSON_QUERY", []string{"'[1,2]'"}, "", "[1,2]"},
		{"ISJSON", []string{text + "'"}, "int", "1"}, {"ISJSON", []string{"'5'"}, "", "0"},
		{"ISJSON", []string{"'5'", "'VALUE'"}, "", "1"}, {"ISJSON", []string{"'[1,]'"}, "", "0"},
		{"ISJSON", []string{"NULL"}, "", "NULL"}, {"ISJSON", []string{"'{\"a\":1} x'"}, "", "0"},
		{"JSON_PATH_EXISTS", []string{text + "'", "'$.info.tags[5]'"}, "", "0"},
		{"JSON_MODIFY", []string{`'{"name":"John","skills":["C#","SQL"]}'`, "'$.name'", "'Mike'"}, "nvarchar(max)", `{"name":"Mike","skills":["C#","SQL"]}`},
		{"JSON_MODIFY", []string{`'{"name":"John","skills":["C#","SQL"]}'`, "'$.surname'", "'Smith'"}, "", `{"name":"John","skills":["C#","SQL"],"surname":"Smith"}`},
		{"JSON_MODIFY", []string{`'{"name":"John","skills":["C#","SQL"]}'`, "'$.name'", "NULL"}, "", `{"skills":["C#","SQL"]}`},
		{"JSON_MODIFY", []string{`'{"name":"John","skills":["C#","SQL"]}'`, "'$.skills'", "NULL"}, "", `{"name":"John"}`},
		{"JSON_MODIFY", []string{`'{"a":1}'`, "'$.a'", "NULL"}, "", `{}`},
		{"JSON_MODIFY", []string{`'{"name":"John"}'`, "'strict $.name'", "NULL"}, "", `{"name":null}`},
		{"JSON_MODIFY", []string{`'{"skills":["C#"]}'`, "'append $.skills'", "'Azure'"}, "", `{"skills":["C#","Azure"]}`},
		{"JSON_MODIFY", []string{`'{}'`, "'append $.skills'", "1"}, "", `{"skills":[1]}`},
		{"JSON_MODIFY", []string{`'{"price":49.99}'`, "'$.price'", "60.00"}, "", `{"price":60.00}`},
		{"JSON_MODIFY", []string{`'{"a":1}'`, "'strict $.b'", "1"}, "", "#13608"},
		{"JSON_MODIFY", []string{`'{"a":[1,2]}'`, "'$.a[1]'", "NULL"}, "", `{"a":[1,null]}`},
		{"JSON_MODIFY", []string{`'{"a":1}'`, "'$.a'", "bit'1'"}, "", `{"a":true}`},
	})
	f := table["JSON_MODIFY"]
	v, err := f.Long(nil, nil, []types.Type{types.NVarCharMax, types.NVarCharMax, types.NVarCharMax, types.BitType}, types.NVarCharMax, []types.Value{`{"a":1}`, "$.a", `[1]`, int64(1)})
	require.NoError(t, err)
	require.Equal(t, `{"a":[1]}`, v)
}
