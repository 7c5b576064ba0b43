package suggest

import (
	"strings"
	"unicode"
)

// The names of months and weekdays in languages of which a word may slip into a schedule. Each row
// holds the spellings of one value, first the English one. A word with two meanings (the French and
// the German "di") is in no row.
var (
	monthSpellings = [12]string{
		"january januar jänner janvier janv enero ene gennaio gen janeiro januari",
		"february februar feber février fevrier févr fevr febrero febbraio fevereiro fev februari",
		"march märz maerz mrz mär mars marzo março marco maart mrt",
		"april avril avr abril abr aprile",
		"may mai mayo maggio mag maio mei maj",
		"june juni juin junio giugno giu junho",
		"july lug juli juillet juil julio luglio julho",
		"august août aout agosto ago augustus augusti",
		"september septembre septiembre settembre setembro",
		"october oktober octobre octubre ottobre ott outubro okt",
		"november novembre noviembre novembro",
		"december dezember décembre decembre diciembre dicembre dezembro dez dic",
	}
	weekdaySpellings = [7]string{
		"monday lun montag lundi lunes lunedì lunedi segunda maandag måndag mandag",
		"tuesday dienstag mardi martes martedì martedi terça dinsdag tisdag tirsdag mar",
		"wednesday mittwoch mercredi miércoles miercoles mercoledì mercoledi quarta woensdag onsdag mit mer",
		"thursday don donnerstag jeudi jueves giovedì giovedi quinta donderdag torsdag jeu jue gio",
		"friday freitag vendredi viernes venerdì venerdi sexta vrijdag fredag fre vie ven",
		"saturday samstag sonnabend samedi sábado sabado sabato zaterdag lördag lørdag sam sab",
		"sunday sonntag dimanche domingo domenica zondag söndag søndag dim dom",
	}
)

// Month returns the month (0 is January) that a word names or misspells. ok is false if there is
// none or more than one.
func Month(word string) (month int, ok bool) {
	return named(word, monthSpellings[:], weekdaySpellings[:])
}

// Weekday returns the weekday (0 is Monday) that a word names or misspells. ok is false if there is
// none or more than one.
func Weekday(word string) (day int, ok bool) {
	return named(word, weekdaySpellings[:], monthSpellings[:])
}

// named returns the row of a word. The word must be a name, the beginning of an English name, or
// near to the English names of one row only. It must not be an English name of the others: "sun" is
// no misspelt June.
func named(word string, rows, others []string) (int, bool) {
	word = strings.ToLower(word)
	other := func(r rune) bool { return !unicode.IsLetter(r) }
	if len(word) < 2 || len(word) > 16 || strings.ContainsFunc(word, other) {
		return 0, false
	}
	for _, row := range others {
		name, _, _ := strings.Cut(row, " ")
		if word == name || word == name[:3] {
			return 0, false
		}
	}
	if n := len(word); n >= 6 && isShort(word[:3], rows) && isShort(word[n-3:], rows) {
		return 0, false // "frisat" lacks its comma
	}
	foreign := -1
	var near uint // the rows with the nearest English names
	distance := most(word)
	for i, row := range rows {
		spellings := strings.Fields(row)
		for k, s := range spellings {
			if s != word {
				continue
			}
			if k == 0 {
				return i, true
			}
			foreign = i
		}
		d := min(editDistance(word, spellings[0], distance), editDistance(word, spellings[0][:3], distance))
		if len(word) >= 3 && strings.HasPrefix(spellings[0], word) {
			d = 0
		}
		if d < distance {
			near, distance = 0, d
		}
		if d <= distance {
			near |= 1 << i
		}
	}
	if foreign >= 0 {
		// A foreign name may also be a slip of an English one: "don" is Thursday or "mon".
		return foreign, near == 0 || near>>foreign&1 == 1
	}
	for i := range rows {
		if near == 1<<i {
			return i, true
		}
	}
	return 0, false
}

// isShort reports whether a word is the short English name of a row.
func isShort(word string, rows []string) bool {
	for _, row := range rows {
		if row[:3] == word {
			return true
		}
	}
	return false
}
