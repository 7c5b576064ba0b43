package keys

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// FuzzField decodes arbitrary texts as rows.
func FuzzField(f *testing.F) {
	f.Add("i1:5s3:abcn0:", 1)
	f.Add("b2:ffx", 0)
	f.Fuzz(func(t *testing.T, row string, i int) {
		if i < 0 || i > 1000 {
			return
		}
		v, err := decodeField(row, i)
		if err != nil {
			require.Nil(t, v)
		}
	})
}

// FuzzKey resolves arbitrary keys.
func FuzzKey(f *testing.F) {
	for _, k := range []string{"c|int|varchar(10)|-1", "f|LEN|int|nvarchar(20)", "rs|OPENJSONWITH|a|int|$.a|0", "g|SUM|int|1|int", "w:json|{}", "jo|0|!nvarchar(max)|int"} {
		f.Add(k)
	}
	f.Fuzz(func(t *testing.T, key string) {
		fn, err := makeScalar(key)
		require.True(t, (fn == nil) == (err != nil), key)
		acc, err := makeAccumulator(key)
		require.True(t, (acc == nil) == (err != nil), key)
		rows, err := RowsFunc(key)
		require.True(t, (rows == nil) == (err != nil), key)
	})
}
