//go:build darwin || freebsd

package sys

// RawTimes takes the times out of a RawStat.
func RawTimes(s *RawStat) (atime, mtime, ctime RawTimespec) {
	return s.Atimespec, s.Mtimespec, s.Ctimespec
}
