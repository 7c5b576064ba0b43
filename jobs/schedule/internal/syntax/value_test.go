package syntax

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestReadValueSaysTheReason(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"":              "the text ends too early",
		`{"a":`:         "the text ends too early",
		`{"a":"x`:       "unexpected EOF",
		`{} x`:          "more text follows the value",
		`1 [`:           "more text follows the value",
		`[1,]`:          "invalid character ']' looking for beginning of value",
		`{"a":1 "b":2}`: "invalid character '\"' after object key:value pair",
		`{1`:            "invalid character '1'",
		strings.Repeat("[", 33) + "1" + strings.Repeat("]", 33): "values are nested more than 32 deep",
		strings.Repeat("[", 33) + "1":                           "values are nested more than 32 deep",
		"x" + strings.Repeat("[", 33):                           "invalid character 'x' looking for beginning of value",
	} {
		_, err := ReadValue([]byte(text))
		require.ErrorContains(t, err, "JSON text ("+want+")", text)
	}
	_, err := ReadValue([]byte(strings.Repeat("[", 32) + "1" + strings.Repeat("]", 32)))
	require.NoError(t, err)
}
