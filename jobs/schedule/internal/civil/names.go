package civil

import "strings"

// The names are English, as in every supported system. Weekdays begin with Monday.
var (
	WeekdayNames = []string{"Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"}
	MonthNames   = []string{"January", "February", "March", "April", "May", "June", "July", "August", "September", "October", "November", "December"}
)

// ParseWeekday returns the number of a weekday by its full name in any case; Monday is 0.
func ParseWeekday(text string) (int, bool) {
	for i, name := range WeekdayNames {
		if strings.EqualFold(name, text) {
			return i, true
		}
	}
	return 0, false
}

// ShortNames returns the first three letters of each name in lower case. The list is rotated so
// that it begins with names[from].
func ShortNames(names []string, from int) []string {
	var short []string
	for i := range names {
		short = append(short, strings.ToLower(names[(i+from)%len(names)][:3]))
	}
	return short
}
