package fs_test

import (
	"fmt"
	"syscall"
	"time"

	"github.com/gohaul/haul/fs"
)

func ExampleStatAtime() {
	st := stamped(time.Unix(1, 0), time.Unix(2, 0)).Sys().(*syscall.Stat_t)
	fmt.Println(fs.StatAtime(st).Sec)
	// Output: 1
}

func ExampleStatMtime() {
	st := stamped(time.Unix(1, 0), time.Unix(2, 0)).Sys().(*syscall.Stat_t)
	fmt.Println(fs.StatMtime(st).Sec)
	// Output: 2
}

func ExampleStatCtime() {
	st := stamped(time.Unix(1, 0), time.Unix(2, 0)).Sys().(*syscall.Stat_t)
	fmt.Println(fs.StatCtime(st).Sec > 2)
	// Output: true
}

func ExampleStatATimeAsTime() {
	st := stamped(time.Unix(1, 0), time.Unix(2, 0)).Sys().(*syscall.Stat_t)
	fmt.Println(fs.StatATimeAsTime(st).UTC())
	// Output: 1970-01-01 00:00:01 +0000 UTC
}
