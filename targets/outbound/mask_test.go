package outbound_test

import (
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"html"
	"io"
	"net/url"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"

	"github.com/jobagent/jobagent/targets/outbound"
)

func TestMask(t *testing.T) {
	t.Parallel()
	const secret = "hunter2 \"<ä/+"
	m := outbound.NewMask(secret, "", "x1", secret+"longer")
	quoted, err := json.Marshal(secret)
	require.NoError(t, err)
	query := url.QueryEscape(secret)
	for _, form := range []string{secret, query, strings.ToLower(query), url.PathEscape(secret),
		string(quoted[1 : len(quoted)-1]), base64.StdEncoding.EncodeToString([]byte(secret)),
		base64.RawURLEncoding.EncodeToString([]byte(secret))} {
		require.Equal(t, "a *** b", m.String("a "+form+" b"), form)
		require.True(t, m.Contains(form))
		require.LessOrEqual(t, len(form), m.Longest())
	}
	for _, form := range []string{hex.EncodeToString([]byte(secret)), strings.ToUpper(hex.EncodeToString([]byte(secret))),
		html.EscapeString(secret), "hunter2 &quot;&lt;&#xE4;/+", `hunter2 \"<\u00E4\/+`,
		strings.ToUpper(secret), "HuNTer2 \"<ä/+", url.QueryEscape(strings.ToUpper(secret)), strings.ToUpper(query)} {
		require.Equal(t, "A *** B", m.String("A "+form+" B"), form)
	}
	for _, around := range []string{"", "a", "ab", "abc"} {
		text := base64.StdEncoding.EncodeToString([]byte(around + secret + around))
		clean := m.String(text)
		require.Contains(t, clean, "***")
		require.Less(t, len(clean), len(text)-len(secret)+6)
	}
	require.Equal(t, "a ***, ***", m.String("a x1, "+secret+"longer"))
	require.Equal(t, "nothing", m.String("nothing"))
	m.Add("nothing")
	require.Equal(t, "***", m.String("nothing"))
	require.False(t, m.Contains("else"))

	var none *outbound.Mask
	require.Equal(t, "a", none.String("a"))
	require.Zero(t, none.Longest())
}

func TestMaskErr(t *testing.T) {
	t.Parallel()
	m := outbound.NewMask("hunter2")
	err := m.Err(fmt.Errorf("hunter2: %w", io.EOF))
	require.EqualError(t, err, "***: EOF")
	require.ErrorIs(t, err, io.EOF)
	require.NotContains(t, fmt.Sprintf("%+v %#v", err, errors.Unwrap(err)), "hunter2")
	require.Equal(t, io.EOF, m.Err(io.EOF))
	require.NoError(t, m.Err(nil))
	var asked *url.Error
	require.ErrorAs(t, m.Err(&url.Error{Op: "Post", URL: "https://hunter2/", Err: io.EOF}), &asked)
}

// No form of a secret survives, wherever it stands.
func FuzzMask(f *testing.F) {
	f.Add("hunter2", "a", "b")
	f.Add("a\"\\/+ä", "", "")
	f.Add("<Ab'&c>😀", "x", "\n")
	f.Fuzz(func(t *testing.T, secret, before, after string) {
		if len(secret) < 4 || strings.Contains("***", secret) || !utf8.ValidString(secret) {
			return
		}
		quoted, err := json.Marshal(secret)
		require.NoError(t, err)
		digits := hex.EncodeToString([]byte(secret))
		m := outbound.NewMask(secret)
		for _, text := range []string{secret, url.QueryEscape(secret), url.PathEscape(secret), strings.ToLower(secret), strings.ToUpper(secret),
			base64.StdEncoding.EncodeToString([]byte(secret)), base64.URLEncoding.EncodeToString([]byte(secret)),
			digits, strings.ToUpper(digits), html.EscapeString(secret), string(quoted[1 : len(quoted)-1])} {
			if clean := m.String(before + text + after); !strings.Contains(clean, "***") || m.String(text) != "***" {
				t.Errorf("%q is not masked: %q", text, clean)
			}
		}
	})
}

// FoldCase changes a copy.
func TestFoldCase(t *testing.T) {
	t.Parallel()
	text := []byte("AbÄz[")
	require.Equal(t, "abÄz[", string(outbound.FoldCase(text)))
	require.Equal(t, "AbÄz[", string(text))
	require.Equal(t, "abÄz[", outbound.FoldCase("AbÄz["))
}
