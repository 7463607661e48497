! Loops as Fortran has them, each three times. Prints what must not depend on the division.
program loops
  use omp_lib
  implicit none
  integer :: n
  do n = 1, 3
    call plain()
    call steps()
    call wide()
    call chain()
    call arrays()
  end do
contains
  subroutine plain()
    integer :: i, last
    integer(8) :: total
    total = 0
    last = 0
    !$omp parallel do reduction(+:total) lastprivate(last)
    do i = 1, 1000
      total = total + i
      last = i
    end do
    print *, 'plain', total, last
    total = 0
    !$omp parallel do schedule(static) collapse(2) reduction(+:total)
    do i = -10, 10
      do last = 5, -5, -2
        total = total + i * 100 + last
      end do
    end do
    print *, 'collapse', total
    total = 0
    !$omp parallel do schedule(dynamic, 4) reduction(+:total)
    do i = 1, 777
      total = total + i
    end do
    print *, 'dynamic', total
  end subroutine

  subroutine steps()
    integer :: i, lower
    integer(8) :: total
    total = 0
    lower = huge(i) - 1001
    !$omp parallel do reduction(+:total)
    do i = lower, huge(i) - 1, 3
      total = total + i - lower
    end do
    print *, 'end', total
    total = 0
    !$omp parallel do schedule(static) reduction(+:total)
    do i = 1000, 1, -7
      total = total + i
    end do
    print *, 'down', total
    total = 0
    !$omp parallel do schedule(static) reduction(+:total)
    do i = 10, 1
      total = total + i
    end do
    print *, 'none', total
  end subroutine

  subroutine wide()
    integer(8) :: i, total, lower
    lower = huge(lower) - 100000_8
    total = 0
    !$omp parallel do reduction(+:total)
    do i = lower, huge(lower) - 1_8
      total = total + (i - lower)
    end do
    print *, 'wide', total
  end subroutine

  subroutine chain()
    integer :: i, strangers
    integer :: owner(5000)
    strangers = 0
    !$omp parallel reduction(+:strangers)
    !$omp do schedule(static)
    do i = 1, 5000
      owner(i) = omp_get_thread_num()
    end do
    !$omp end do nowait
    !$omp do schedule(static)
    do i = 1, 5000
      if (owner(i) /= omp_get_thread_num()) strangers = strangers + 1
    end do
    !$omp end do
    !$omp end parallel
    print *, 'chain', strangers
  end subroutine

  subroutine arrays()
    real(8) :: a(300, 200), b(300, 200)
    integer :: i, j
    !$omp parallel do private(j)
    do i = 1, 200
      do j = 1, 300
        a(j, i) = i * 1000 + j
      end do
    end do
    !$omp parallel
    !$omp workshare
    b = a * 2
    !$omp end workshare
    !$omp end parallel
    print *, 'arrays', sum(b)
  end subroutine
end program
