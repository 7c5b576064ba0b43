package module

import "testing"

func FuzzSkipBlank(f *testing.F) {
	f.Add(" -- x\n/* y */CREATE")
	f.Fuzz(func(t *testing.T, text string) {
		if n := skipBlank(text); n < 0 || n > len(text) {
			t.Errorf("%d of %q", n, text)
		}
	})
}
