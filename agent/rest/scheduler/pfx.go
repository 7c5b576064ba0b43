package scheduler

import (
	"bytes"
	"crypto/hmac"
	"crypto/sha256"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/asn1"
	"errors"
	"fmt"
	"math"
	"unicode/utf16"

	"software.sslmate.com/src/go-pkcs12"
)

const (
	// maxPFX is the length of a PFX, in bytes. One with a chain of five certificates has 10 KB.
	maxPFX = 64 << 10
	// maxIterations is the number of iterations of all key derivations of a PFX. OpenSSL and
	// Windows write 2,000 for each of the three.
	maxIterations = 1_000_000
	// maxKey is the length of a key with its attributes, in bytes. An RSA key of 8,192 bits has
	// 5 KB; to parse a key takes the square of its length.
	maxKey = 8 << 10
)

var errForm = errors.New("want a PKCS #12 file with a private key outside of its encrypted certificates")

var errLongKey = fmt.Errorf("its private key has more than %d bytes", maxKey)

var errIterations = fmt.Errorf("its passwords are derived with more than %d iterations", maxIterations)

// Object identifiers of PKCS #7 and PKCS #12 (RFC 7292, RFC 5652).
var (
	oidData   = asn1.ObjectIdentifier{1, 2, 840, 113549, 1, 7, 1}
	oidKey    = asn1.ObjectIdentifier{1, 2, 840, 113549, 1, 12, 10, 1, 1} // keyBag
	oidShroud = asn1.ObjectIdentifier{1, 2, 840, 113549, 1, 12, 10, 1, 2} // pkcs8ShroudedKeyBag
	oidSHA256 = asn1.ObjectIdentifier{2, 16, 840, 1, 101, 3, 4, 2, 1}
)

// pfx is a PFX (RFC 7292, 4).
type pfx struct {
	Version int
	Safe    contentInfo
	MAC     macData `asn1:"optional"`
}

type contentInfo struct {
	Type    asn1.ObjectIdentifier
	Content asn1.RawValue `asn1:"tag:0,explicit,optional"`
}

type macData struct {
	Digest struct {
		Algorithm pkix.AlgorithmIdentifier
		Digest    []byte
	}
	Salt       []byte
	Iterations int `asn1:"optional,default:1"`
}

// decodePFX returns the key, its certificate and the chain of a PFX.
//
// Whoever writes the file chooses the number of iterations, up to 2^63, and the library knows no
// limit. Counts that can be seen are bounded. A key within an encrypted part has a count that
// cannot be seen, so the parts are put in an order in which the library meets the visible key first
// and refuses a second one before it derives anything.
func decodePFX(data []byte, password string) (key any, leaf *x509.Certificate, chain []*x509.Certificate, err error) {
	if len(data) > maxPFX {
		return nil, nil, nil, fmt.Errorf("it has %d bytes: want at most %d", len(data), maxPFX)
	}
	if left := countIterations(data, maxIterations, 0); left < 0 {
		return nil, nil, nil, errIterations
	}
	ordered, err := keysFirst(data, password)
	if err != nil {
		return nil, nil, nil, err
	}
	return pkcs12.DecodeChain(ordered, password)
}

// countIterations returns what is left of a number of iterations behind those of a text in DER. A
// count follows its salt in all structures: an INTEGER behind an OCTET STRING (RFC 7292, 4 and
// appendix C; RFC 8018, appendix A.2). Octet strings may have DER in them.
func countIterations(der []byte, left, depth int) int {
	const maxNesting = 32
	salt := false
	for len(der) > 0 && left >= 0 && depth < maxNesting {
		var v asn1.RawValue
		rest, err := asn1.Unmarshal(der, &v)
		if err != nil {
			return left
		}
		der = rest
		universal := v.Class == asn1.ClassUniversal
		switch {
		case universal && v.Tag == asn1.TagInteger && salt:
			n := int64(math.MaxInt64)
			if _, err := asn1.Unmarshal(v.FullBytes, &n); err != nil || n > int64(left) {
				return -1
			}
			left -= int(max(0, n))
		case v.IsCompound, universal && v.Tag == asn1.TagOctetString:
			left = countIterations(v.Bytes, left, depth+1)
		}
		salt = universal && v.Tag == asn1.TagOctetString
	}
	return left
}

// keysFirst returns a PFX whose parts that are not encrypted come first, with a MAC of its own. The
// MAC of the file is not checked: a wrong password does not open its parts.
func keysFirst(data []byte, password string) ([]byte, error) {
	var file pfx
	if rest, err := asn1.Unmarshal(data, &file); err != nil || len(rest) > 0 || !file.Safe.Type.Equal(oidData) {
		return nil, errForm
	}
	var safe []byte
	if _, err := asn1.Unmarshal(file.Safe.Content.Bytes, &safe); err != nil {
		return nil, errForm
	}
	var parts []asn1.RawValue
	if rest, err := asn1.Unmarshal(safe, &parts); err != nil || len(rest) > 0 {
		return nil, errForm
	}
	var open, closed []asn1.RawValue
	for _, part := range parts {
		var info contentInfo
		if _, err := asn1.Unmarshal(part.FullBytes, &info); err != nil {
			return nil, errForm
		}
		if info.Type.Equal(oidData) {
			open = append(open, part)
		} else {
			closed = append(closed, part)
		}
	}
	longest := 0
	for _, part := range open {
		longest = max(longest, keyLength(part))
	}
	switch {
	case longest == 0:
		return nil, errForm
	case longest > maxKey:
		return nil, errLongKey
	}
	safe, err := asn1.Marshal(append(open, closed...))
	if err != nil {
		return nil, errForm
	}
	if file.Safe.Content, err = explicit(safe); err != nil {
		return nil, errForm
	}
	file.MAC = macData{Salt: make([]byte, sha256.Size), Iterations: 1}
	file.MAC.Digest.Algorithm = pkix.AlgorithmIdentifier{Algorithm: oidSHA256, Parameters: asn1.NullRawValue}
	file.MAC.Digest.Digest = mac(safe, file.MAC.Salt, password)
	ordered, err := asn1.Marshal(file)
	if err != nil {
		return nil, errForm
	}
	return ordered, nil
}

// keyLength returns the length of the longest key of a part that is not encrypted; 0 means none.
func keyLength(part asn1.RawValue) (longest int) {
	var info contentInfo
	var content []byte
	var bags []asn1.RawValue
	if _, err := asn1.Unmarshal(part.FullBytes, &info); err != nil {
		return 0
	}
	if _, err := asn1.Unmarshal(info.Content.Bytes, &content); err != nil {
		return 0
	}
	if _, err := asn1.Unmarshal(content, &bags); err != nil {
		return 0
	}
	for _, bag := range bags {
		var id asn1.ObjectIdentifier
		if _, err := asn1.Unmarshal(bag.Bytes, &id); err == nil && (id.Equal(oidKey) || id.Equal(oidShroud)) {
			longest = max(longest, len(bag.FullBytes))
		}
	}
	return longest
}

// explicit returns an octet string as the content of a contentInfo.
func explicit(text []byte) (asn1.RawValue, error) {
	inner, err := asn1.Marshal(text)
	return asn1.RawValue{Class: asn1.ClassContextSpecific, Tag: 0, IsCompound: true, Bytes: inner}, err
}

// mac returns the MAC of a PFX with SHA-256 and one iteration (RFC 7292, appendix B.2).
func mac(text, salt []byte, password string) []byte {
	const block = 64 // v of SHA-256, in bytes
	repeated := func(b []byte) (out []byte) {
		for i := range (len(b) + block - 1) / block * block {
			out = append(out, b[i%len(b)])
		}
		return out
	}
	var encoded []byte
	for _, unit := range append(utf16.Encode([]rune(password)), 0) {
		encoded = append(encoded, byte(unit>>8), byte(unit))
	}
	input := bytes.Repeat([]byte{3}, block) // 3: a key of a MAC
	input = append(append(input, repeated(salt)...), repeated(encoded)...)
	key := sha256.Sum256(input)
	h := hmac.New(sha256.New, key[:])
	h.Write(text)
	return h.Sum(nil)
}
