package types

import (
	"os"
	"testing"

	"github.com/stretchr/testify/require"
)

// The product and the embedded server have the same names of Windows time zones.
func TestWindowsZonesAreThoseOfTheProduct(t *testing.T) {
	t.Parallel()
	product, err := os.ReadFile("../../../jobs/internal/winzone/windowszones.txt")
	require.NoError(t, err)
	require.Equal(t, string(product), windowsZoneTable, "copy jobs/internal/winzone/windowszones.txt")
}
