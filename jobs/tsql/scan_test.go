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

// A command of sqlcmd begins its line; what is in a string or a comment is none.
func TestDirective(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]int{
		"SELECT 1;\n  :setvar db shop\n": 2, ":r x.sql": 1, ":on error exit": 1, "PRINT ':setvar'": 0, "PRINT '\n:setvar x y'": 0, "-- :r x\n/*\n:r y*/": 0, "SELECT geometry::r": 0, "label:\nPRINT 1": 0,
		"x: r": 0, "'": 0,
	} {
		_, line := Directive(text)
		require.Equal(t, want, line, text)
	}
}

func FuzzScan(f *testing.F) {
	f.Add("EXEC a N'b' /* c */ -- d\nGO\n[e] \"f\" @g 0x1")
	f.Fuzz(func(_ *testing.T, text string) { _, _ = Scan(text) }) // it ends, without a panic
}
