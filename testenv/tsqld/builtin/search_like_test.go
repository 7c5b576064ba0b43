package builtin_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/jobagent/jobagent/testenv/tsqld/builtin/search"
	"github.com/jobagent/jobagent/testenv/tsqld/mserr"
	"github.com/jobagent/jobagent/testenv/tsqld/types"
)

// TestLike follows "LIKE (Transact-SQL)".
func TestLike(t *testing.T) {
	for _, c := range []struct {
		s, pattern, escape string
		want               bool
	}{
		{"abc", "a%", "", true}, {"ABC", "a_c", "", true}, {"abc", "%c", "", true}, {"abc", "", "", false},
		{"", "%", "", true}, {"Carson", "[C-P]arsen", "", false}, {"Larsen", "[C-P]arsen", "", true},
		{"dle", "de[^l]%", "", false}, {"def", "de[^l]%", "", true}, {"5%", "5[%]", "", true},
		{"_n", "[_]n", "", true}, {"[", "[[]", "", true}, {"]", "]", "", true}, {"abc_d", "abc[_]d%", "", true},
		{"a-", "a[a-]", "", true},
		{"50%", "%50!%%", "!", true}, {"50x", "%50!%%", "!", false}, {"a", "[", "", false},
		{"aaab", "%a%a%b", "", true}, {"é", "e", "", false}, {"É", "é", "", true}, {"abc ", "abc", "", false},
		{"abc", "abc ", "", false}, {"x", "[^]]", "", false}, {"]", "[]]", "", false}, {"[]", "[]", "", false},
		{"a]", "[^b]]", "", true}, {"]", "[!]]", "!", true}, {"x", "[^!]]", "!", true}, {"^", "[a^]", "", true},
		{"m", "[z-a]", "", false}, {"[a", "%[a%", "", false},
	} {
		got, err := like(c.s, c.pattern, c.escape, types.CI)
		require.NoError(t, err)
		require.Equal(t, c.want, got, "%q LIKE %q", c.s, c.pattern)
	}
	for _, c := range []struct {
		s, pattern string
		want       bool
	}{
		{"a", "a", true}, {"a  ", "a", true}, {"a  ", "a ", true}, {"a  ", "a  ", true}, {"a  ", "a   ", false},
		{"a", "a ", false}, {"a  ", "a_", true}, {"a  ", "a____", false}, {"   ", "", true}, {"   ", "  ", true},
		{"Robert King   ", "% King", true}, {"Robert King   ", "% King ", true}, {"Robert King", "% King ", false},
		{"a b  ", "a%b_", true}, {"a b  ", "%b", true}, {"a b  x", "%b", false}, {"a b  ", "%c", false}, {"ab ", "a%[^b]", true},
		{"  ", "%%_", true}, {"x", "%x%", true}, {"é  ", "%É", true},
	} {
		p, err := search.Compile(nil, c.pattern, "", types.CI)
		require.NoError(t, err)
		got, err := p.MatchPadded(nil, c.s)
		require.NoError(t, err)
		require.Equal(t, c.want, got, "%q LIKE %q, not Unicode", c.s, c.pattern)
	}
	got, err := like("ABC", "abc", "", types.CS)
	require.NoError(t, err)
	require.False(t, got)
	_, err = like("a", "a", "xy", types.CI)
	var message *mserr.Error
	require.ErrorAs(t, err, &message)
	require.EqualValues(t, 506, message.Number)
}

// like is s LIKE pattern ESCAPE escape.
func like(s, pattern, escape string, c types.Collation) (bool, error) {
	p, err := search.Compile(nil, pattern, escape, c)
	if err != nil {
		return false, err
	}
	return p.Match(nil, s)
}

// FuzzLike must not panic or hang.
func FuzzLike(f *testing.F) {
	f.Add("abc", "a%[b-d]_", "!")
	f.Add("aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa", "%a%a%a%a%a%a%b", "")
	f.Fuzz(func(t *testing.T, s, pattern, escape string) {
		a, err := like(s, pattern, escape, types.CI)
		if err == nil && s == pattern && !strings.ContainsAny(pattern, "%_[") && escape == "" && !a {
			t.Fatalf("%q is not like itself", s)
		}
	})
}
