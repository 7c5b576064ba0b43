package schedule

import (
	"flag"
	"math/rand/v2"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

var systemdTexts = flag.Int("forms.systemd", 0, "the number of random calendar events that are compared with systemd-analyze")

var elapse = regexp.MustCompile(`(?:Next elapse|Iter\. #\d+): \w+ (\d{4}-\d\d-\d\d \d\d:\d\d:\d\d) UTC`)

// dateStep matches a date with a step.
var dateStep = regexp.MustCompile(`(^|\s)[^ :]*[-~][^ :]*/`)

var ranges = regexp.MustCompile(`(\d+)\.\.(\d+)`)

// oneSecond reports whether a text has a range of one number.
func oneSecond(text string) bool {
	return slices.ContainsFunc(ranges.FindAllStringSubmatch(text, -1), func(m []string) bool { return m[1] == m[2] })
}

// TestSystemdAnalyze compares translations with systemd itself: the same texts are valid, and they
// have the same instants.
func TestSystemdAnalyze(t *testing.T) {
	t.Parallel()
	if *systemdTexts == 0 {
		t.Skip("it runs systemd-analyze for each text: use -forms.systemd N")
	}
	random := rand.New(rand.NewPCG(18, 11))
	signs := "0123456789*/.,-~: MonTueSunT"
	valid := 0
	for range *systemdTexts {
		name := translatedZones[random.IntN(len(translatedZones))]
		zone, err := time.LoadLocation(name)
		require.NoError(t, err)
		text, _ := randomCalendar(random, zone)
		if random.IntN(3) == 0 { // perhaps invalid
			at := random.IntN(len(text))
			text = strings.TrimSpace(text[:at] + string(signs[random.IntN(len(signs))]) + text[at+random.IntN(2):])
		}
		text += " " + name
		after := randomAfter(random)
		cmd := exec.CommandContext(t.Context(), "systemd-analyze", "calendar", "--iterations=8", "--base-time="+after.Format("2006-01-02 15:04:05 UTC"), text)
		cmd.Env = append(os.Environ(), "TZ=UTC", "LC_ALL=C")
		output, err := cmd.CombinedOutput()
		got, refused := Translate(FormSystemd, text, TranslateOptions{})
		if err != nil && oneSecond(text) {
			continue // systemd accepts 5..5 for hours, and not for seconds
		}
		if err != nil && strings.Contains(text, "~") && strings.Contains(text, ",") {
			continue // systemd lowers the largest day by 3 with each part of a list (chain_valid)
		}
		if err != nil {
			require.Error(t, refused, "systemd refuses %q: %s", text, output)
			continue
		}
		if refused != nil {
			if !strings.Contains(string(output), "never") && !strings.Contains(refused.Error(), "fraction") {
				t.Errorf("systemd accepts %q: %v\n%s", text, refused, output)
			}
			continue
		}
		if dateStep.MatchString(text) {
			// systemd 252 skips days in such a month: from the 30th, 06/20 is sought on the 46th,
			// which it takes for the middle of the next month (find_next).
			continue
		}
		valid++
		plan, err := Parse(got.Kind, []byte(got.Spec), Options{})
		require.NoError(t, err)
		var want []time.Time
		for _, m := range elapse.FindAllStringSubmatch(string(output), -1) {
			at, err := time.Parse(time.DateTime, m[1])
			require.NoError(t, err)
			want = append(want, at)
		}
		require.Equal(t, formatted(want), formatted(Preview(plan, after, max(len(want), 1))[:min(len(want), 8)]), "%q after %s: %s\n%s", text, after, got.Spec, output)
	}
	t.Logf("%d of %d texts are valid", valid, *systemdTexts)
}
