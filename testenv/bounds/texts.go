package bounds

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// JSON returns cases with hostile JSON texts of about [Size](size) bytes.
func JSON(size int, parse func(text string) error) []Case {
	size = Size(size)
	fill := func(begin, part, end string) string {
		return begin + strings.Repeat(part, max(0, (size-len(begin)-len(end))/len(part))) + end
	}
	numbered := func(begin, format, end string) string {
		var b strings.Builder
		b.WriteString(begin)
		for i := 0; b.Len() < size-len(end)-40; i++ {
			fmt.Fprintf(&b, format, i)
		}
		return b.String() + end
	}
	half := (size - 10) / 2
	return Cases(map[string]string{
		"open arrays":                 fill("", "[", ""),
		"arrays in each other":        strings.Repeat("[", half) + strings.Repeat("]", half),
		"open objects":                fill("", `{"a":`, ""),
		"objects in each other":       strings.Repeat(`{"a":`, size/7) + "1" + strings.Repeat("}", size/7),
		"nests at 90 levels":          fill("[", strings.Repeat("[", 90)+strings.Repeat("]", 90)+",", "1]"),
		"an array of numbers":         fill("[", "1,", "1]"),
		"an array of arrays":          fill("[", "[],", "1]"),
		"an array of objects":         fill("[", "{},", "1]"),
		"an array of texts":           fill("[", `"",`, "1]"),
		"an array of nulls":           fill("[", "null,", "1]"),
		"an array of objects with a":  fill("[", `{"a":1},`, "1]"),
		"an object of many keys":      numbered("{", `"k%d":1,`, `"a":1}`),
		"an object of many objects":   numbered("{", `"k%d":{},`, `"a":1}`),
		"the same key":                fill("{", `"a":1,`, `"a":1}`),
		"the same key in other cases": fill("{", `"aA":1,"Aa":1,"AA":1,`, `"aa":1}`),
		"one text":                    fill(`"`, "x", `"`),
		"one text without an end":     fill(`"`, "x", ""),
		"a long key":                  fill(`{"`, "x", `":1}`),
		"escapes":                     fill(`["`, `\u0001`, `"]`),
		"surrogates":                  fill(`["`, `\ud83d\ude00`, `"]`),
		"a long number":               fill("[", "9", "]"),
		"a long fraction":             fill("[0.", "9", "]"),
		"large exponents":             fill("[", "1e999999999,", "1]"),
		"blanks":                      fill("", " ", "1"),
		"lines":                       fill("[", "1,\n", "1]"),
		"commas":                      fill("[", ",", "]"),
		"texts without commas":        fill("[", `"" `, "]"),
		"zeros":                       fill("", "\x00", ""),
		"bytes that are no text":      fill(`"`, "\xff", `"`),
	}, parse)
}

// XML returns cases with hostile XML texts of about [Size](size) bytes.
func XML(size int, parse func(text string) error) []Case {
	size = Size(size)
	fill := func(begin, part, end string) string {
		return begin + strings.Repeat(part, max(0, (size-len(begin)-len(end))/len(part))) + end
	}
	var attributes strings.Builder
	attributes.WriteString("<a")
	for i := 0; attributes.Len() < size-40; i++ {
		fmt.Fprintf(&attributes, ` a%d=""`, i)
	}
	return Cases(map[string]string{
		"open elements":            fill("", "<a>", ""),
		"elements in each other":   strings.Repeat("<a>", size/7) + strings.Repeat("</a>", size/7),
		"elements":                 fill("<a>", "<b/>", "</a>"),
		"elements with texts":      fill("<a>", "<b>x</b>", "</a>"),
		"documents":                fill("", "<a/>", ""),
		"attributes":               attributes.String() + "/>",
		"the same attribute":       fill("<a", ` a=""`, "/>"),
		"elements with attributes": fill("<a>", `<b c="d"/>`, "</a>"),
		"namespaces":               fill("<a", ` xmlns:a="b"`, "/>"),
		"a long name":              fill("<", "a", "/>"),
		"a long attribute":         fill(`<a b="`, "x", `"/>`),
		"a long text":              fill("<a>", "x", "</a>"),
		"references":               fill("<a>", "&lt;", "</a>"),
		"comments":                 fill("<a>", "<!---->", "</a>"),
		"a text cut by comments":   fill("<a>", "x<!---->", "</a>"),
		"a long comment":           fill("<a><!--", "x", "--></a>"),
		"instructions":             fill("<a>", "<?b?>", "</a>"),
		"character data":           fill("<a>", "<![CDATA[]]>", "</a>"),
		"entities":                 `<!DOCTYPE a [<!ENTITY b "c">` + fill("", "<!ENTITY d '&b;&b;'>", "") + "]><a>&d;</a>",
		"a document type":          fill("<!DOCTYPE a [", "<", "]><a/>"),
		"less-than signs":          fill("", "<", ""),
	}, parse)
}

// Cases returns texts by their names as cases of one parser.
func Cases(texts map[string]string, parse func(text string) error) []Case {
	list := make([]Case, 0, len(texts))
	for _, name := range slices.Sorted(maps.Keys(texts)) {
		list = append(list, Case{name, texts[name], parse})
	}
	return list
}
