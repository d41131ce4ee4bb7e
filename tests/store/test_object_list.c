/* SPDX-License-Identifier: Apache-2.0 */
/* Pages of lists, as real servers write them, and what is refused of them. */
#include "base/compiler.h"
#include "base/status.h"
#include "store/object_list.h"
#include "test.h"

static struct fdl_text told;

static int32_t tell(void *user, const struct fdl_object *o)
{
    (void)user;
    fdl_text_add(&told, "%s %llu %s\n", o->key, (unsigned long long)o->bytes,
                 o->tag);
    return FEEDLINE_OK;
}

static int32_t tell_folder(void *user, const char *key)
{
    (void)user;
    fdl_text_add(&told, "[%s]\n", key);
    return FEEDLINE_OK;
}

static struct fdl_object_list listing(const char *prefix)
{
    fdl_text_clear(&told);
    fdl_text_add(&told, "%s", "");
    return (struct fdl_object_list){
        .what = "s3://b/p", .prefix = prefix, .each = tell};
}

static int32_t read_page(fdl_page_read *read, struct fdl_object_list *l,
                         const char *headers, const char *body)
{
    struct fdl_answer a = {.status = 200};
    fdl_text_add(&a.headers, "%s", headers);
    fdl_text_add(&a.body, "%s", body);
    int32_t status = read(l, &a);
    fdl_answer_free(&a);
    return status;
}

static void expect(fdl_page_read *read, const char *prefix, const char *headers,
                   const char *body, const char *objects, const char *next)
{
    struct fdl_object_list l = listing(prefix);
    int32_t status = read_page(read, &l, headers, body);
    if (status < 0)
        print_error("%s\n", fdl_last_error());
    assert_int_equal(status, FEEDLINE_OK);
    assert_string_equal(told.data, objects);
    assert_string_equal(l.next.data, next);
    fdl_object_list_free(&l);
}

/* Nothing of the page is told. */
static void expect_failure(fdl_page_read *read, const char *body,
                           const char *says)
{
    struct fdl_object_list l = listing("p");
    assert_int_equal(read_page(read, &l, "", body), FEEDLINE_EINVAL);
    assert_string_equal(told.data, "");
    if (!strstr(fdl_last_error(), says))
        assert_string_equal(fdl_last_error(), says);
    assert_non_null(strstr(fdl_last_error(), "s3://b/p: "));
    fdl_object_list_free(&l);
}

#define HEAD "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
#define S3   "<ListBucketResult xmlns=\"http://s3.amazonaws.com/doc/\">"

TEST(s3)
{
    expect(fdl_page_s3, "p", "",
           HEAD S3
           "<Name>b</Name><Prefix>p</Prefix><KeyCount>3</KeyCount>"
           "<NextContinuationToken>a/b+c=</NextContinuationToken>"
           "<IsTruncated>true</IsTruncated>"
           "<Contents><Key>p/a+b%2B%C3%A9</Key><LastModified>x</LastModified>"
           "<ETag>&quot;d41d8&quot;</ETag><Size>12</Size>"
           "<Owner><ID>i</ID><DisplayName>d</DisplayName></Owner></Contents>"
           "<Contents><Key>p/folder/</Key><Size>0</Size></Contents>\n"
           "<Contents>\n <Key>p/c</Key>\n <Size>18446744073709551615</Size>\n"
           "</Contents><EncodingType>url</EncodingType></ListBucketResult>",
           "p/a b+\xc3\xa9 12 \"d41d8\"\np/c 18446744073709551615 \n",
           "a/b+c=");
    /* Without EncodingType nothing is encoded. */
    expect(fdl_page_s3, "", "",
           S3 "<Contents><Key>a+b%2B&amp;&#x20;&#252;</Key><Size>1</Size>"
              "</Contents><IsTruncated>false</IsTruncated></ListBucketResult>",
           "a+b%2B& \xc3\xbc 1 \n", "");
    expect(fdl_page_s3, "p", "", S3 "<!-- c --></ListBucketResult>\n", "", "");
    expect(fdl_page_s3, "p", "",
           S3 "<Contents><Key><![CDATA[p<&]]></Key><Size>2</Size></Contents>"
              "</ListBucketResult>",
           "p<& 2 \n", "");
}

TEST(azure)
{
    expect(fdl_page_azure, "p", "",
           "\xef\xbb\xbf" HEAD
           "<EnumerationResults ServiceEndpoint=\"https://a/\" "
           "ContainerName='b>c'><Prefix>p</Prefix><Blobs><Blob>"
           "<Name>p/a b+%20</Name><Properties><Etag>0x8D</Etag>"
           "<Content-Length>5</Content-Length><BlobType>BlockBlob</BlobType>"
           "</Properties></Blob><BlobPrefix><Name>x</Name></BlobPrefix></Blobs>"
           "<NextMarker>2!92!x</NextMarker></EnumerationResults>",
           "p/a b+%20 5 \"0x8D\"\n", "2!92!x");
    expect(fdl_page_azure, "", "",
           "<EnumerationResults><Blobs /><NextMarker /></EnumerationResults>",
           "", "");
}

TEST(google)
{
    expect(
        fdl_page_google, "p", "",
        "{\"kind\": \"storage#objects\", \"items\": [{\"name\": \"p/a b\\n\","
        "\"size\": \"12\", \"md5Hash\": \"1B2M2Y8AsgTpgAmY7PhCfg==\","
        "\"x\": {\"y\": [1]}}, {\"size\": \"3\", \"name\": \"p/c\"}],"
        "\"nextPageToken\": \"Cg==\"}",
        "p/a b\n 12 \"d41d8cd98f00b204e9800998ecf8427e\"\np/c 3 \n", "Cg==");
    expect(fdl_page_google, "p", "", " {} ", "", "");
    expect(fdl_page_google, "p", "",
           "{\"items\":[{\"name\":\"p\\ud83d\\ude00\\ud83d\\u00fc\\ude00\","
           "\"size\":\"1\"}]}",
           "p\xf0\x9f\x98\x80?\xc3\xbc? 1 \n", "");
}

TEST(the_hub)
{
    static const char body[] =
        "[{\"type\":\"directory\",\"oid\":\"1\",\"size\":0,\"path\":\"p/d\"},"
        "{\"type\":\"file\",\"oid\":\"2\",\"size\":123,\"path\":\"p/a.tar\","
        "\"lfs\":{\"oid\":\"3\",\"size\":123,\"pointerSize\":134}},"
        "{\"type\":\"file\",\"size\":1,\"path\":\"other\"}]";
    static const char link[] = "link: <https://h/prev>; rel=\"prev\", "
                               "<https://h/api?cursor=a,b>; rel=\"next\"\r\n";
    expect(fdl_page_hub, "p/", link, body, "p/a.tar 123 \n",
           "https://h/api?cursor=a,b");
    expect(fdl_page_hub, "p/", "", body, "p/a.tar 123 \n", "");
    expect(fdl_page_hub, "p/", "Link: <https://h/prev>; rel=\"prev\"\n", "[]",
           "", "");
}

/* ---- Folders ------------------------------------------------------------- */

static int32_t read_level(fdl_page_read *read, const char *body)
{
    struct fdl_object_list l = listing("p/");
    l.folder = tell_folder;
    int32_t status = read_page(read, &l, "", body);
    fdl_object_list_free(&l);
    return status;
}

static void expect_level(fdl_page_read *read, const char *body,
                         const char *objects)
{
    assert_int_equal(read_level(read, body), FEEDLINE_OK);
    assert_string_equal(told.data, objects);
}

TEST(folders)
{
    expect_level(fdl_page_s3,
                 S3 "<CommonPrefixes><Prefix>p/a%2Bb+c/</Prefix>"
                    "</CommonPrefixes><Contents><Key>p/</Key><Size>0</Size>"
                    "</Contents><CommonPrefixes>\n<Prefix>p/d/</Prefix>"
                    "</CommonPrefixes><EncodingType>url</EncodingType>"
                    "<Prefix>p/</Prefix></ListBucketResult>",
                 "[p/a+b c/]\n[p/d/]\n");
    expect_level(fdl_page_azure,
                 "<EnumerationResults><Blobs><BlobPrefix><Name>p/a/</Name>"
                 "<Properties><Etag>x</Etag></Properties></BlobPrefix></Blobs>"
                 "</EnumerationResults>",
                 "[p/a/]\n");
    expect_level(fdl_page_google,
                 "{\"prefixes\":[\"p/a\\u00fc/\"],\"items\":[]}",
                 "[p/a\xc3\xbc/]\n");
    expect_level(fdl_page_hub,
                 "[{\"type\":\"directory\",\"path\":\"p/a\"},"
                 "{\"type\":\"directory\",\"path\":\"other\"}]",
                 "[p/a/]\n");
}

TEST(folders_that_are_none)
{
    static const char *const bad[] = {"p/a", "p/", "q/a/", ""};
    char body[256];
    for (size_t i = 0; i < FDL_COUNT_OF(bad); i++) {
        snprintf(body, sizeof(body), "{\"prefixes\":[\"%s\"]}", bad[i]);
        assert_int_equal(read_level(fdl_page_google, body), FEEDLINE_EINVAL);
        snprintf(body, sizeof(body),
                 S3 "<CommonPrefixes><Prefix>%s</Prefix></CommonPrefixes>"
                    "</ListBucketResult>",
                 bad[i]);
        assert_int_equal(read_level(fdl_page_s3, body), FEEDLINE_EINVAL);
        assert_string_equal(told.data, "");
    }
    assert_int_equal(read_level(fdl_page_s3,
                                S3 "<CommonPrefixes></CommonPrefixes>"
                                   "</ListBucketResult>"),
                     FEEDLINE_EINVAL);
}

/* ---- What is refused ----------------------------------------------------- */

TEST(xml_that_is_refused)
{
    static const char *const bad[][2] = {
        {"", "no document"},
        {"no xml", "text outside"},
        {"<html><body>502</body></html>", "no list of objects"},
        {S3, "it ends too early"},
        {S3 "<Contents><Key>p</Key><Size>1</Size></Contents>",
         "it ends too early"},
        {S3 "</ListBucketResult><a/>", "a second document"},
        {S3 "</Contents>", "the end of another element"},
        {S3 "<Contents><Key>p</Key></Contents></ListBucketResult>",
         "without a name or a size"},
        {S3 "<Contents><Size>1</Size></Contents></ListBucketResult>",
         "without a name or a size"},
        {S3 "<Contents><Key>p</Key><Size>-1</Size></Contents>"
            "</ListBucketResult>",
         "a size that is none"},
        {S3 "<Contents><Key>p</Key><Size>18446744073709551616</Size></Contents>"
            "</ListBucketResult>",
         "a size that is none"},
        {S3 "<Contents><Key>q</Key><Size>1</Size></Contents>"
            "</ListBucketResult>",
         "what was not asked for"},
        {S3 "<Contents><Key>p%zz</Key><Size>1</Size></Contents>"
            "<EncodingType>url</EncodingType></ListBucketResult>",
         "not encoded rightly"},
        {S3 "<IsTruncated>true</IsTruncated></ListBucketResult>",
         "does not say where"},
        {"<!DOCTYPE a [<!ENTITY b \"c\">]>" S3, "a document type"},
        {S3 "<a>&b;</a></ListBucketResult>", "a character that there is not"},
        {S3 "<a>&#0;</a></ListBucketResult>", "a character that there is not"},
        {S3 "<a>&#xd800;</a></ListBucketResult>", "that there is not"},
        {S3 "<a>&amp</a></ListBucketResult>", "begins no character"},
        {S3 "<a b='c>", "an attribute that does not end"},
        {S3 "<a <b", "a tag that does not end"},
        {S3 "<!-- ", "it ends too early"},
        {S3 "<![CDATA[ ", "a CDATA that does not end"},
        {"<a><a><a><a><a><a><a><a><a><a><a><a><a>", "nested too deeply"}};
    for (size_t i = 0; i < FDL_COUNT_OF(bad); i++)
        expect_failure(fdl_page_s3, bad[i][0], bad[i][1]);
    struct fdl_text t = {0};
    fdl_text_add(&t, S3 "<a>%*s", 20000, "x");
    expect_failure(fdl_page_s3, t.data, "a text that is too long");
    fdl_text_clear(&t);
    fdl_text_add(&t, S3 "<a%0*d>", 100, 1);
    expect_failure(fdl_page_s3, t.data, "a name of an element expected");
    fdl_text_free(&t);
}

TEST(json_that_is_refused)
{
    static const char *const bad[][2] = {
        {"", "not a list of objects"},
        {"[]", "not a list of objects"},
        {"<html>", "not a list of objects"},
        {"{\"items\": {}}", "a list expected"},
        {"{\"items\": [1]}", "an object of the store expected"},
        {"{\"items\": [{\"name\": \"p\"}]}", "without a name or a size"},
        {"{\"items\": [{\"name\": \"p\", \"size\": \"x\"}]}",
         "without a name or a size"},
        {"{\"items\": [{\"name\": \"p\", \"size\": \"1\"},", "at "},
        {"{\"items\": [{\"name\": \"p\\u0000\", \"size\": 1}]}", "a zero byte"},
        {"{\"items\": [{\"name\": \"q\", \"size\": 1}]}", "was not asked for"},
        {"{} {}", "more than a list"},
        {"{\"a\": [[[[[[[[[[1]]]]]]]]]]}", "nested too deeply"}};
    for (size_t i = 0; i < FDL_COUNT_OF(bad); i++)
        expect_failure(fdl_page_google, bad[i][0], bad[i][1]);
    struct fdl_text t = {0};
    fdl_text_add(&t, "{\"items\": [{\"name\": \"p%0*d\", \"size\": 1}]}", 9000,
                 1);
    expect_failure(fdl_page_google, t.data, "a text that is too long");
    fdl_text_free(&t);
    expect_failure(fdl_page_hub, "{\"error\": \"x\"}", "not a list of objects");
}

#define GOES_ON                                                                \
  S3 "<IsTruncated>true</IsTruncated><NextContinuationToken>%d"                \
     "</NextContinuationToken></ListBucketResult>"

/* A server may say anything about where a list goes on. */
TEST(lists_that_do_not_end)
{
    struct fdl_object_list l = listing("");
    struct fdl_text t = {0};
    fdl_text_add(&t, GOES_ON, 1);
    assert_int_equal(read_page(fdl_page_s3, &l, "", t.data), FEEDLINE_OK);
    assert_int_equal(read_page(fdl_page_s3, &l, "", t.data), FEEDLINE_EINVAL);
    assert_non_null(strstr(fdl_last_error(), "again and again"));
    int pages = 0;
    for (int32_t status = FEEDLINE_OK; status == FEEDLINE_OK; pages++) {
        assert_true(pages < 2000);
        fdl_text_clear(&t);
        fdl_text_add(&t, GOES_ON, 2 + pages);
        status = read_page(fdl_page_s3, &l, "", t.data);
    }
    assert_non_null(strstr(fdl_last_error(), "are empty"));
    fdl_text_free(&t);
    fdl_object_list_free(&l);
}

TEST_MAIN("object_list")
