"""Pages in Korean have the code, tables, headings and links of the English."""

import os
import re

import pytest

from tests.pages import KOREAN
from tests.pages import read

HANGUL = re.compile('[\uac00-\ud7a3]')
NUMBER = r'\d[\d,.]*\d|\d'

# What is written with other numerals in Korean: the English, the Korean.
OTHERWISE = {
    '0.96 million': '96만 번',
    '14.75 million': '1,475만 번',
    '18.47 million': '1,847만 번',
    '2.76 million': '276만 번',
    'Every ten steps': '10스텝마다',
    'In November 2026': '2026년 11월',
    'Twenty trials': '시도 20개',
    'a million weights': '가중치가 100만 개',
    'a quarter of the values': '값의 4분의 1만',
    'a quarter of them': '4분의 1을',
    'a tenth of gradient': '경사 하강법의 10분의 1',
    'a tenth of the rate': '10분의 1이어도',
    'a tenth of the steepest': '10분의 1보다',
    'a third of `--max_steps`': '`--max_steps`의 3분의 1',
    'a third to a tenth of that': '3분의 1에서 10분의 1',
    'a twentieth of the time': '20분의 1의 시간에',
    'a twentieth of the workers': '워커가 20분의 1만',
    'about 19.5 million': '약 1,950만 번',
    'about a hundred labels': '레이블이 100개쯤',
    'after one second': '처리기는 1초 뒤',
    'among ten classes': '10개 클래스 중 하나',
    'ended within a point of': '차이가 1%p 이내이면',
    'every ten minutes': '기본적으로 10분마다',
    'five minutes before': '5분 전에',
    'in half an hour': '30분 만에',
    'links ten times as fast': '10배 빠른 링크',
    'more than a point away': '차이가 1%p를 넘은',
    'ten classes: airplane': '10개 클래스(airplane',
    'ten times its default': '기본값의 10배',
    'the remaining tenth of the weights': '남은 가중치 10분의 1',
    'the variants within a point': '차이가 1%p 이내인 것',
    'three quarters of the time': '시간은 4분의 3',
    'to three quarters of': '너비를 4분의 3으로'
}


def without_code(text):
  """A page without its blocks of code."""
  text = re.sub('^```.*?^```$', '', text, flags=re.M | re.S)
  return re.sub('^ {4}.*$', '', text, flags=re.M)


def code(text):
  """What is code in a page: fenced blocks, and lines indented by four."""
  return re.findall('^```.*?^```$|^ {4}\\S.*?$', text, re.M | re.S)


def headings(text):
  """The level of each heading."""
  return [
      len(level) for level in re.findall('^(#+) ', without_code(text), re.M)
  ]


def tables(text):
  """For each row of a table, for each cell: its code and its numbers."""
  return [[
      sorted(re.findall('`[^`]*`|' + NUMBER, cell)) for cell in row.split('|')
  ] for row in re.findall(r'^\|.*\|$', text, re.M)]


def targets(page):
  """What a page links to: files, in English where there are both, and URLs."""

  def target(link):
    if not link or '://' in link:
      return link
    path = os.path.normpath(os.path.join(os.path.dirname(page), link))
    return KOREAN.get(path, path.replace('/notebooks/ko/', '/notebooks/'))

  links = re.findall(r'\]\(([^)#]*)[^)]*\)', without_code(read(page)))
  return sorted(map(target, links))


@pytest.mark.parametrize('korean, english', KOREAN.items())
def test_a_page_in_korean_has_the_same_parts(korean, english):
  assert code(read(korean)) == code(read(english))
  assert headings(read(korean)) == headings(read(english))
  assert tables(read(korean)) == tables(read(english))
  assert targets(korean) == targets(english)


@pytest.mark.parametrize('korean', KOREAN)
def test_links_to_pages_in_english_say_so(korean):
  link = re.compile(r'\[([^\]]+)\]\(([^)#:]+\.md)[^)]*\)(.{4}|)')
  for paragraph in re.split('\n\n+|\n- ', without_code(read(korean))):
    if '모두 영어' in paragraph:
      continue
    for text, page, mark in link.findall(paragraph):
      path = os.path.normpath(os.path.join(os.path.dirname(korean), page))
      if path not in KOREAN and text != 'English':
        assert path not in KOREAN.values(), (text, page)
        assert mark == '(영어)', (text, page)


@pytest.mark.parametrize('korean', KOREAN)
def test_no_paragraph_is_left_in_english(korean):
  for paragraph in re.split('\n\n+', without_code(read(korean))):
    words = re.sub(r'`[^`]*`|\]\([^)]*\)|<[^>]*>', '', paragraph)
    if len(re.findall('[a-z]{3,}', words)) > 8:
      assert HANGUL.search(words), paragraph


@pytest.mark.parametrize('korean', KOREAN)
def test_numbers_of_the_prose_are_those_of_the_english(korean):
  pages = [
      ' '.join(without_code(read(page)).split())
      for page in (KOREAN[korean], korean)
  ]
  for pair in OTHERWISE.items():
    counts = [page.count(words) for page, words in zip(pages, pair)]
    assert counts[0] == counts[1], (pair, counts)
    pages = [page.replace(words, ' ') for page, words in zip(pages, pair)]
  english, of_korean = (sorted(re.findall(NUMBER, page)) for page in pages)
  assert of_korean == english
