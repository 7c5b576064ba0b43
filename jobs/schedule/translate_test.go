package schedule

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestTranslateSystemd(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"Mon..Fri 09:00":                    "cron5 0 9 * * 1-5",
		"*:0/15":                            "cron5 */15 * * * *",
		"daily":                             "cron5 0 0 * * *",
		"weekly UTC":                        "cron5 0 0 * * 1",
		"quarterly":                         "cron5 0 0 1 */3 *",
		"Sat,Sun 12:00:30":                  "cron6 30 0 12 * * 0,6",
		"Mon *-*~07/1":                      "sap {\"cron\": \"* * -7:-1 mon 0 0 0\"}",
		"*-02~03":                           "sap {\"cron\": \"* 2 -3 * 0 0 0\"}",
		"Mon..Fri 09:00 Europe/Berlin":      `cron5 {"cron": "0 9 * * 1-5", "timeZone": "Europe/Berlin", "gap": "skip", "overlap": "first"}`,
		"OnCalendar=daily\nPersistent=true": `cron5 {"cron": "0 0 * * *", "catchUp": "last"}`,
	} {
		got, err := Translate(FormSystemd, text, TranslateOptions{})
		if err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		require.Equal(t, want, string(got.Kind)+" "+got.Spec, text)
	}
}
