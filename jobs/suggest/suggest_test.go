package suggest

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestNames(t *testing.T) {
	t.Parallel()
	const none = -1
	for word, want := range map[string]int{
		"may": 4, "Mai": 4, "mag": 4, "January": 0, "janu": 0, "sept": 8, "Juli": 6, "août": 7, "okt": 9, "dez": 11, "jna": 0, "febr": 1,
		"ju": none, "jum": none, "janfeb": none, "xyz": none, "j": none, "lug": none,
	} {
		got, ok := Month(word)
		if !ok {
			got = none
		}
		require.Equal(t, want, got, word)
	}
	for word, want := range map[string]int{
		"mon": 0, "mno": 0, "Monday": 0, "Freitag": 4, "lundi": 0, "dom": 6, "tues": 1, "thur": 3, "wednsday": 2,
		"don": none, "di": none, "monfri": none, "sunmon": none, "mun": none, "s": none,
	} {
		got, ok := Weekday(word)
		if !ok {
			got = none
		}
		require.Equal(t, want, got, word)
	}
}

func TestNearest(t *testing.T) {
	t.Parallel()
	units := []string{"Minute", "Hour", "Day", "Week", "Month"}
	for word, want := range map[string]string{
		"monthly": "Month", "daily": "Day", "hous": "Hour", "dya": "Day", "Mnth": "Month", "fortnightly": "", "ay": "Day", "today": "", "": "", "m": "",
	} {
		require.Equal(t, want, Nearest(word, units), word)
	}
	require.Empty(t, Nearest("cat", []string{"bat", "rat"}), "two are equally near")
}

func TestNumber(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"7": "7", "007": "7", "+7": "7", "7.0": "7", " 7 ": "7", "-3": "-3", "0": "", "12": "", "7.5": "", "1e1": "", "": "", "-": "", "99999999999999999999": "",
	} {
		require.Equal(t, want, Number(text, -9, 9), text)
	}
}

// TestEditDistance compares the bounded search with the whole matrix.
func TestEditDistance(t *testing.T) {
	t.Parallel()
	whole := func(x, y []rune) int {
		rows := make([][]int, len(x)+1)
		for i := range rows {
			rows[i] = make([]int, len(y)+1)
			for j := range rows[i] {
				switch {
				case i == 0 || j == 0:
					rows[i][j] = i + j
					continue
				case x[i-1] == y[j-1]:
					rows[i][j] = rows[i-1][j-1]
				default:
					rows[i][j] = rows[i-1][j-1] + 1
				}
				rows[i][j] = min(rows[i][j], rows[i-1][j]+1, rows[i][j-1]+1)
				if i > 1 && j > 1 && x[i-1] == y[j-2] && x[i-2] == y[j-1] {
					rows[i][j] = min(rows[i][j], rows[i-2][j-2]+1)
				}
			}
		}
		return rows[len(x)][len(y)]
	}
	r := rand.New(rand.NewPCG(1, 2))
	word := func() []rune {
		w := make([]rune, r.IntN(9))
		for i := range w {
			w[i] = []rune("abcé")[r.IntN(4)]
		}
		return w
	}
	for range 5_000 {
		a, b, limit := word(), word(), r.IntN(5)
		want, got := whole(a, b), editDistance(string(a), string(b), limit)
		require.True(t, got == want || want > limit && got > limit, "%q %q within %d: %d, not %d", string(a), string(b), limit, got, want)
	}
}
