package tds

import (
	"encoding/json"

	"github.com/jobagent/jobagent/testenv/tsqld/types"
)

type interim struct {
	T types.Type
	I *int64
	F *float64
	S *string
	B []byte
}

func variantPack(t types.Type, v types.Value) ([]byte, error) {
	x := interim{T: t}
	switch v := v.(type) {
	case int64:
		x.I = &v
	case float64:
		x.F = &v
	case string:
		x.S = &v
	case []byte:
		x.B = v
	}
	return json.Marshal(x)
}

func variantUnpack(b []byte) (types.Type, types.Value, error) {
	var x interim
	err := json.Unmarshal(b, &x)
	switch {
	case x.I != nil:
		return x.T, *x.I, err
	case x.F != nil:
		return x.T, *x.F, err
	case x.S != nil:
		return x.T, *x.S, err
	case x.B != nil:
		return x.T, x.B, err
	}
	return x.T, nil, err
}
