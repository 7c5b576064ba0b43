package tsql

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestScan(t *testing.T) {
	t.Parallel()
	tokens, err := Scan("\ufeffEXEC [a]]b].\"c\"\"d\" @x = N'it''s\r\nGO\r\n', -1.5 -- '\r\n GO 2 \r\n/* ' /* */ ' */ G'é' GOTO #t$\ngo\n")
	require.NoError(t, err)
	require.Equal(t, []Token{
		{Word, "EXEC", false, 1}, {Word, "a]b", true, 1}, {Symbol, ".", false, 1}, {Word, `c"d`, true, 1}, {Variable, "@x", false, 1}, {Symbol, "=", false, 1},
		{String, "it's\r\nGO\r\n", false, 1}, {Symbol, ",", false, 3}, {Symbol, "-", false, 3}, {Number, "1.5", false, 3}, {Separator, "GO", false, 4},
		{Word, "G", false, 5}, {String, "é", false, 5}, {Word, "GOTO", false, 5}, {Word, "#t$", false, 5}, {Separator, "GO", false, 6},
	}, tokens)
	require.True(t, tokens[0].Is("exec"))
	require.False(t, Token{Kind: Word, Text: "exec", Quoted: true}.Is("EXEC"))
	for text, fault := range map[string]string{"a\n'b": "line 2: the string has no end", "[b": "line 1: the name in brackets has no end", "/* /* */": "line 1: the comment has no end"} {
		_, err := Scan(text)
		require.EqualError(t, err, fault)
	}
}

func FuzzScan(f *testing.F) {
	f.Add("EXEC a N'b' /* c */ -- d\nGO\n[e] \"f\" @g 0x1")
	f.Fuzz(func(_ *testing.T, text string) { _, _ = Scan(text) }) // it ends, without a panic
}
