package types

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestLanguages(t *testing.T) {
	t.Parallel()
	require.Len(t, Languages(), 33)
	for i, l := range Languages() {
		row := strings.Split(strings.Split(languageRows, "\n")[i+1], "\t")
		require.Len(t, row, 10, l.Name)
		require.Equal(t, []string{l.Months(), l.ShortMonths(), l.Days()}, row[7:], l.Name)
		_, known := DateOrderByName(row[3])
		require.True(t, known, l.Name)
		require.Positive(t, l.LCID, l.Name)
		require.Positive(t, l.MessageLCID, l.Name)
		require.Contains(t, []int{1, 7}, l.FirstDay, l.Name)
		require.NotContains(t, append(l.months[:], l.short[:]...), "", l.Name)
		require.NotContains(t, l.days[:], "", l.Name)
	}
}
