package suggest

import (
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
