package tokenfile

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/jobagent/jobagent/testenv/bounds"
)

func TestTokensMatchTheirSecretOnly(t *testing.T) {
	t.Parallel()
	one, text := New()
	other, otherText := New()
	require.NotEqual(t, text, otherText)
	require.NoError(t, one.Check())
	id, secret, ok := Parse(text)
	require.True(t, ok)
	require.Equal(t, one.ID, id)
	require.True(t, one.Matches(secret))
	require.False(t, other.Matches(secret))
	require.False(t, one.Matches(""))
	require.False(t, Token{}.Matches(""), "the zero token matches nothing")
	require.NotContains(t, fmt.Sprintf("%+v", one), secret)
	for _, wrong := range []string{
		"", "jbt_", "jbt_a", "jbt_a_b", text + "A", text[:len(text)-1], strings.ToUpper(text), "jbt_" + secret, "x" + text,
		strings.Replace(text, "_"+secret, "__"+secret[1:], 1) + "=", strings.Replace(text, id, "a b", 1),
		"jbt_" + id + "_" + strings.Repeat("A", 42) + "B", // bits behind the last byte are not zero
	} {
		_, _, ok := Parse(wrong)
		require.False(t, ok, wrong)
	}
}

func TestExpiry(t *testing.T) {
	t.Parallel()
	now := time.Now()
	require.False(t, Token{}.Expired(now))
	require.False(t, Token{Expires: now.Add(time.Second)}.Expired(now))
	require.True(t, Token{Expires: now}.Expired(now))
}

// Writers that come at the same time lose nothing, and the file is its owner's.
func TestConcurrentWriters(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "tokens.json")
	var done sync.WaitGroup
	for i := range 20 {
		done.Go(func() {
			err := Update(path, func(tokens []Token) ([]Token, error) {
				one, _ := New()
				one.Name = fmt.Sprint(i)
				return append(tokens, one), nil
			})
			if err != nil {
				t.Error(err)
			}
		})
	}
	done.Wait()
	tokens, err := Read(path)
	require.NoError(t, err)
	require.Len(t, tokens, 20)
	if runtime.GOOS != "windows" {
		info, err := os.Stat(path)
		require.NoError(t, err)
		require.Equal(t, os.FileMode(0o600), info.Mode().Perm())
	}
	files, err := os.ReadDir(filepath.Dir(path))
	require.NoError(t, err)
	require.Len(t, files, 2, "the file and its lock")
}

// A change that fails leaves the file as it was.
func TestFailedChange(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "tokens.json")
	require.NoError(t, os.WriteFile(path, []byte(`{"tokens":[]}`), 0o600))
	require.EqualError(t, Update(path, func([]Token) ([]Token, error) { return nil, os.ErrInvalid }), os.ErrInvalid.Error())
	text, err := os.ReadFile(path)
	require.NoError(t, err)
	require.Equal(t, `{"tokens":[]}`, string(text))
}

func TestFaultyFiles(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "tokens.json")
	good := `{"id":"a","name":"n","sha256":"` + strings.Repeat("0", 64) + `"}`
	for text, want := range map[string]string{
		"": "want an object with tokens", "[]": "want an object with tokens", `{"tokens":1}`: "want an object with tokens",
		`{"token":[]}`: "unknown field", `{"tokens":[]} x`: "text follows", `{"tokens":[` + good + `,` + good + `]}`: `tokens[1]: duplicate id "a"`,
		`{"tokens":[{"id":"A"}]}`: `tokens[0]: invalid id "A"`, `{"tokens":[` + strings.Repeat(" ", maxFile) + `]}`: "more than",
	} {
		require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
		_, err := Read(path)
		require.ErrorContains(t, err, want)
		require.ErrorContains(t, err, path)
	}
	_, err := Read(filepath.Dir(path))
	require.ErrorContains(t, err, "read the token file")
}

// A change of the file counts within a second. While the file is faulty, its tokens are refused:
// one that was revoked must not live on.
func TestFileIsReadAgain(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "tokens.json")
	synctest.Test(t, func(t *testing.T) {
		f, err := Open(path)
		require.NoError(t, err)
		_, found, err := f.Lookup("a")
		require.NoError(t, err)
		require.False(t, found)

		one, _ := New()
		add := func(tokens []Token) ([]Token, error) { return append(tokens, one), nil }
		require.NoError(t, Update(path, add))
		_, found, _ = f.Lookup(one.ID)
		require.False(t, found, "looked at less than a second ago")
		time.Sleep(lookEvery)
		stored, found, err := f.Lookup(one.ID)
		require.NoError(t, err)
		require.True(t, found)
		require.Equal(t, one, stored)

		require.NoError(t, os.WriteFile(path, []byte("{"), 0o600))
		time.Sleep(lookEvery)
		_, found, err = f.Lookup(one.ID)
		require.Error(t, err)
		require.False(t, found)
		_, err = Open(path)
		require.Error(t, err)

		require.NoError(t, os.WriteFile(path, []byte(`{"tokens":[]}`), 0o600))
		time.Sleep(lookEvery)
		_, found, err = f.Lookup(one.ID)
		require.NoError(t, err)
		require.False(t, found)

		require.NoError(t, Update(path, add))
		time.Sleep(lookEvery)
		_, found, _ = f.Lookup(one.ID)
		require.True(t, found)
		require.NoError(t, os.Remove(path))
		time.Sleep(lookEvery)
		_, found, err = f.Lookup(one.ID)
		require.NoError(t, err)
		require.False(t, found, "a file that is gone has no tokens")
	})
}

func FuzzParse(f *testing.F) {
	_, text := New()
	for _, seed := range []string{text, "", "jbt__", "jbt_a_" + strings.Repeat("A", 43), "jbt_a_" + strings.Repeat("_", 43)} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		id, secret, ok := Parse(text)
		if ok {
			require.Equal(t, text, Prefix+id+"_"+secret)
			require.Regexp(t, idForm, id)
		}
	})
}

// A token file at its limit takes a bounded time and memory: all fronts of a machine read it again
// whenever it changes.
func TestHostileFiles(t *testing.T) { //nolint:paralleltest // it measures
	read := func(text string) error {
		_, err := decode([]byte(text))
		return err
	}
	tokens := func(format string) string {
		var b strings.Builder
		b.WriteString(`{"tokens":[`)
		for i := 0; b.Len() < bounds.Size(maxFile)-1000; i++ {
			fmt.Fprintf(&b, format+",", i)
		}
		return strings.TrimSuffix(b.String(), ",") + "]}"
	}
	const hash = `"sha256":"0000000000000000000000000000000000000000000000000000000000000000"`
	bounds.Check(t, append(bounds.JSON(maxFile, read), bounds.Cases(map[string]string{
		"tokens":            tokens(`{"id":"t%d","name":"n",` + hash + `,"expires":"2030-01-01T00:00:00Z"}`),
		"empty tokens":      `{"tokens":[` + bounds.Repeat("{},", maxFile/3-20) + "{}]}",
		"the most tokens":   `{"tokens":[` + bounds.Repeat("{},", limits.Values-10) + "{}]}",
		"the same token":    `{"tokens":[` + bounds.Repeat(`{"id":"a"},`, maxFile/11-20) + "{}]}",
		"faults":            tokens(`{"id":"?%d","name":"","sha256":"?"}`),
		"nulls":             `{"tokens":[` + bounds.Repeat("null,", maxFile/5-20) + "null]}",
		"a long id":         `{"tokens":[{"id":"` + bounds.Repeat("x", maxFile-100) + `"}]}`,
		"many scopes":       `{"tokens":[{"id":"a","scopes":[` + bounds.Repeat(`"",`, maxFile/3-50) + `""]}]}`,
		"the same member":   `{"tokens":[{` + bounds.Repeat(`"id":"a",`, maxFile/9-20) + `"id":"a"}]}`,
		"text that follows": `{"tokens":[]}` + bounds.Repeat(" ", maxFile-100) + "x",
	}, read)...))
}

// A file with many faults lists the first ones.
func TestFaultsAreBounded(t *testing.T) {
	t.Parallel()
	err := CheckAll("tokens", make([]Token, 3*maxFaults))
	require.ErrorContains(t, err, "tokens[0]: invalid id")
	require.ErrorContains(t, err, "tokens[34] and the tokens after it were not checked")
	require.NotContains(t, err.Error(), "tokens[35]")
}

func FuzzFile(f *testing.F) {
	f.Add([]byte(`{"tokens":[{"id":"a","name":"n","sha256":"` + strings.Repeat("0", 64) + `","expires":"2030-01-01T00:00:00Z"}]}`))
	f.Add([]byte(`{"tokens":[{}]}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		var tokens []Token
		var err error
		bounds.Allocations(t, len(text), 64<<10, 400, func() { tokens, err = decode(text) })
		if err != nil {
			return
		}
		for _, one := range tokens {
			require.NoError(t, one.Check())
		}
	})
}
